import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { hold } from '../../../support/inside.js'
import { eventsOf, home, startPeer, vtcode } from '../../../support/peer.js'
import { byRole, diligent, fails, json, passes, plan, replan, roleOf } from '../../../support/planned.js'
import type { Row } from '../../../support/seed.js'

// Of a task that is planned, built and evaluated.
async function task(...evaluations: object[]) {
  const peer = hold(
    await startPeer(
      byRole({ plan: json(plan()), build: diligent, evaluate: evaluations.map(json), replan: json(replan()) }),
    ),
  )
  const harness = { orchestration_mode: 'plan_build_evaluate' }
  const at = hold(
    await home(
      peer,
      {},
      {
        settings: {
          policy: { allow: ['Bash(grep *)'] },
          sandbox: { mode: 'off' },
          agent: { model: 'peer/m', harness },
        },
        provider: { context_window: 128_000 },
      },
    ),
  )
  const run = async (...args: string[]) => {
    const events = eventsOf((await vtcode(at, ['exec', '--json', ...args])).out)
    return {
      end: events.at(-1),
      said: events.flatMap(({ type, item }) =>
        type === 'item.completed' && item.type === 'harness' ? [item.event as string] : [],
      ),
    }
  }
  const count = (role: string): number => peer.bodies.filter((body) => roleOf(body) === role).length
  return { peer, run, count, file: (name: string) => readFileSync(join(at.root, '.vtcode/tasks', name), 'utf8') }
}

export const rows: Row[] = [
  [
    '32',
    'orchestration_mode plan_build_evaluate',
    async () => {
      const { run, peer } = await task(passes())
      expect((await run('make it greet')).end).toMatchObject({ outcome_code: 'success', verified: true })
      expect([...new Set(peer.bodies.map(roleOf))]).toEqual(['plan', 'build', 'evaluate'])
    },
  ],
  [
    '34',
    'planner writes current_spec.md, current_contract.md, current_task.md',
    async () => {
      const { run, file } = await task(passes())
      await run('make it greet')
      expect(['spec', 'contract', 'task'].map((name) => file(`current_${name}.md`))).toEqual(
        ['A greeting on the screen.', '1. made.txt holds hello', '# Greet'].map((text) =>
          expect.stringContaining(text),
        ),
      )
    },
  ],
  [
    '36',
    'generator constrained by artifacts',
    async () => {
      const { run, peer } = await task(passes())
      await run('make it greet')
      const building = peer.bodies.filter((body) => roleOf(body) === 'build')
      expect(building.length).toBeGreaterThan(0)
      for (const { messages } of building) expect(messages[0].content).toContain('<contract>\n1. made.txt holds hello')
    },
  ],
  [
    '36',
    'evaluator writes current_evaluation.md',
    async () => {
      const { run, file } = await task(passes())
      await run('make it greet')
      expect(file('current_evaluation.md')).toContain('It greets.')
    },
  ],
  [
    '37',
    'bounded revision rounds',
    async () => {
      const { run, count } = await task(fails())
      expect((await run('make it greet')).end).toMatchObject({ outcome_code: 'failed' })
      // Two revisions, each with an evaluation, after the first one.
      expect([count('replan'), count('evaluate')]).toEqual([2, 3])
    },
  ],
  [
    '37',
    'artifacts survive handoff, resume, compaction',
    async () => {
      const { run, peer, count, file } = await task(fails(), fails(), fails(), passes())
      expect((await run('make it greet')).said).toContain('blocked_handoff_written')
      const resumed = await run('--continue', 'greet better')
      expect([resumed.end.outcome_code, count('plan')]).toEqual(['success', 1])
      expect(peer.bodies.findLast((body) => roleOf(body) === 'build')!.messages[0].content).toContain(
        '<contract>\n1. made.txt holds hello',
      )
      expect(file('current_contract.md')).toContain('2. hello stands there twice.')
    },
  ],
]
