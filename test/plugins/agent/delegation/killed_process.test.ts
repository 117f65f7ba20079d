import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { delegation, report, says, spawn, speakers, tool } from '../../../support/delegation.js'
import { hold } from '../../../support/inside.js'
import { checkLog, checkMemory, checkMessages } from '../../../support/invariants.js'
import { call, home, logOf, vtcode, type Home } from '../../../support/peer.js'

const look = 'Find out what the file says and report it.'
const late = { ...says('never'), how: { latency: 60_000 } }
const read = call('unified_file', { action: 'read', path: 'a.txt' })
const sessionsOf = ({ root }: Home): string => join(root, '.vtcode/sessions')
const factsOf = (place: Home, id: string): any[] =>
  readFileSync(join(sessionsOf(place), id, 'messages.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const childrenIn = (facts: any[]): any[] => [
  ...new Map(facts.flatMap(({ kind, child }) => (kind === 'child' ? [[child.id, child] as const] : []))).values(),
]
/** Returns the session that no other one started. */
const parentOf = (place: Home): string | undefined =>
  readdirSync(sessionsOf(place)).find((name) => {
    const file = join(sessionsOf(place), name, 'manifest.json')
    return (
      name.startsWith('ses_') &&
      existsSync(file) &&
      JSON.parse(readFileSync(file, 'utf8')).parent_session_id === undefined
    )
  })

describe('agents of a killed process', () => {
  it('marks an agent of a killed process as failed with its report and starts it no second time', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 }
    const peer = await speakers({
      parent: [
        {
          toolCalls: [
            spawn(`ONE ${look}`, { agent: 'explorer' }),
            spawn(`TWO ${look}`, { agent: 'explorer', background: true }),
            spawn(`SIX ${look}`, { agent: 'explorer' }),
          ],
        },
        { toolCalls: [tool('list')] },
        says('All of it is known.'),
      ],
      ONE: [
        { content: '## Summary\nHalf of it is read.\n\n## Facts\n- a.txt:1 says a', toolCalls: [read], usage },
        late,
      ],
      TWO: [report('It is read.', { facts: ['b.txt:1 says b'] })],
      SIX: [late],
    })
    const place = hold(
      await home(
        peer,
        { 'a.txt': 'a\n' },
        { provider: { cost: { input: 100, output: 100 }, context_window: 200_000, max_output_tokens: 1000 } },
      ),
    )
    const halfway = () =>
      existsSync(sessionsOf(place)) &&
      readdirSync(sessionsOf(place)).filter((name) => name.startsWith('ses_')).length === 4 &&
      peer.bodies('SIX').length === 1 &&
      peer.bodies('ONE').length === 2 &&
      childrenIn(factsOf(place, parentOf(place)!))[1]?.status === 'completed'
    const killed = await vtcode(place, ['exec', '--mode', 'auto', 'Explore.'], {
      started: (child) =>
        void (async () => {
          await expect.poll(halfway, { interval: 20 }).toBe(true)
          child.kill('SIGKILL')
        })(),
    })
    expect(killed.code).toBe(null)
    const id = parentOf(place)!
    expect(childrenIn(factsOf(place, id)).filter(({ status }) => status === 'running')).not.toHaveLength(0)
    const { code, out } = await vtcode(place, ['--mode', 'auto', 'resume', id, '--continue-turn'])
    expect([code, out]).toEqual([0, 'All of it is known.\n'])
    const facts = factsOf(place, id)
    const children = childrenIn(facts)
    expect(children.map(({ id, status, error }) => [id, status, error?.code])).toEqual([
      ['a1', 'failed', 'VT_SESSION_INTERRUPTED'],
      ['a2', 'completed', undefined],
      ['a3', 'failed', 'VT_SESSION_INTERRUPTED'],
    ])
    const told = peer
      .bodies('parent')[1]
      .messages.filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content)
    expect(told).toEqual([
      expect.stringMatching(
        /^Unchecked report of explorer: a1: failed \(VT_SESSION_INTERRUPTED: .*\)\.\n<report>\nHalf of it is read\.\nFacts:\n- a\.txt:1 says a/,
      ),
      expect.any(String),
      expect.stringMatching(
        /^Unchecked report of explorer: a3: failed \(VT_SESSION_INTERRUPTED: .*\)\. It reported nothing\.$/,
      ),
    ])
    expect(JSON.stringify(peer.bodies('parent').at(-1).messages)).toContain('3 more can run at once, 20 more')
    const memory = checkMemory((await place.read(`.vtcode/sessions/${id}/memory.json`))!)
    expect(memory).toMatchObject({
      grounded_facts: expect.arrayContaining([{ fact: 'a.txt:1 says a', source: 'subagent:explorer' }]),
      delegation_notes: expect.arrayContaining(['`explorer`: Half of it is read.']),
    })
    // The next step includes its cost.
    expect(children[0].cost_usd).toBeCloseTo(0.1)
    checkLog(logOf(place, id))
    for (const { messages } of peer.bodies()) checkMessages(messages)
  })

  it('adds unchecked facts, files, checks and questions of an agent to the memory, within its limits', async () => {
    const many = Array.from({ length: 7 }, (_, n) => `fact ${n}`)
    const s = await delegation([{ toolCalls: [spawn(`ONE ${look}`, { write_paths: ['src/**'] })] }, says('Done.')], {
      ONE: [
        { toolCalls: [call('unified_file', { action: 'write', path: 'src/a.ts', content: 'x' })] },
        report('Half.', {
          facts: many,
          touched_files: ['src/b.ts'],
          verification: ['npm test passed'],
          open_questions: ['Why?'],
        }),
      ],
    })
    await s.agent.run('Work.')
    await s.agent.close()
    const memory = checkMemory(
      readFileSync(join(s.root, '.vtcode/sessions', s.agent.session_id, 'memory.json'), 'utf8'),
    )
    expect(memory).toMatchObject({
      grounded_facts: many.slice(-5).map((fact) => ({ fact, source: 'subagent:worker' })),
      touched_files: ['src/b.ts', 'src/a.ts'],
      verification_todo: ['npm test passed (reported by worker, not checked)'],
      open_questions: ['Why?'],
      delegation_notes: ['`worker`: Half.'],
    })
  })
})
