import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { hold, scene } from '../../../support/inside.js'
import { call, home, startPeer } from '../../../support/peer.js'

const write = (path: string, content = 'x') => call('unified_file', { action: 'write', path, content })
const refusedThenFine = [
  { toolCalls: [write('a.txt')] },
  { content: 'Done.' },
  { content: 'I could not.' },
  { content: 'Fine.' },
  { toolCalls: [write('b.txt')] },
  { content: 'Done.' },
  { content: 'Again not.' },
]

describe('agent lifecycle', () => {
  it('reports escalated for the run with the refused change and not for a later one', async () => {
    const s = await scene(refusedThenFine, { boot: { mode: 'ask' } })
    const agent = await createAgent(s.booted.kernel, { env: {} })
    const outcomes = [await agent.run('change'), await agent.run('just talk'), await agent.run('change')].map(
      ({ outcome_code }) => outcome_code,
    )
    await agent.close()
    expect(outcomes).toEqual(['escalated', 'success', 'escalated'])
  })

  it('allows closing twice and reports VT_SESSION_CLOSED for every later request', async () => {
    const s = await scene([{ content: 'one' }, { content: 'never' }])
    const agent = await createAgent(s.booted.kernel, { env: {} })
    await agent.run('go')
    await Promise.all([agent.close(), agent.close()])
    await agent.close()
    expect(await agent.run('more')).toMatchObject({
      outcome_code: 'failed',
      subtype: 'error_during_execution',
      exit_code: 1,
      num_turns: 0,
      error: { code: 'VT_SESSION_CLOSED', hint: expect.stringContaining('resume') },
    })
    for (const asked of [
      () => agent.followUp('x'),
      () => agent.steer('x'),
      () => agent.compact(),
      () => agent.takeBack(),
    ])
      await expect(asked()).rejects.toMatchObject({ code: 'VT_SESSION_CLOSED' })
    agent.pause()
    agent.resume()
    expect(s.peer.bodies).toHaveLength(1)
    // The kernel belongs to its creator.
    expect(await s.booted.kernel.call('unified_search', { action: 'list' })).toMatchObject({ ok: true })
  })

  it('refuses a second run while one is open and leaves the first undisturbed', async () => {
    const s = await scene([{ content: 'one' }, { content: 'two' }])
    const agent = await createAgent(s.booted.kernel, { env: {} })
    const first = agent.run('go')
    expect(await agent.run('and this')).toMatchObject({
      outcome_code: 'failed',
      num_requests: 0,
      error: { code: 'VT_SESSION_RUNNING', hint: expect.stringContaining('followUp') },
    })
    await expect(agent.compact()).rejects.toMatchObject({ code: 'VT_SESSION_RUNNING' })
    expect(await first).toMatchObject({ outcome_code: 'success', text: 'one', num_requests: 1 })
    expect(await agent.run('more')).toMatchObject({ text: 'two' })
    await agent.close()
  })

  it('keeps an in-memory session off the disk, except for changes of the task', async () => {
    for (const files of [{}, { '.vtcode/plans/p.md': 'kept', '.vtcode/spool/.gitignore': '*\n' }]) {
      const s = await scene(
        [
          {
            toolCalls: [
              write('a.txt'),
              call('unified_exec', { action: 'run', command: 'seq 1 60000; echo y > c.txt' }),
              call('unified_search', { action: 'list' }),
            ],
          },
          { toolCalls: [call('unified_file', { action: 'edit', path: 'a.txt', old_str: 'x', new_str: 'y' })] },
          { content: 'ok' },
        ],
        {
          boot: { mode: 'full-auto', files },
          settings: { sandbox: { mode: 'off' } },
        },
      )
      const before = readdirSync(s.booted.root, { recursive: true, encoding: 'utf8' })
      expect(await s.run('go', { providers: { session: 'memory', approval: { approve: () => true } } })).toMatchObject({
        outcome_code: 'success',
      })
      expect(await s.booted.read('a.txt')).toBe('y')
      // Notes of a running kernel on its own writes are no part of a session.
      const left = readdirSync(s.booted.root, { recursive: true, encoding: 'utf8' }).filter(
        (name) => !before.includes(name) && !/^\.vtcode(\/tmp(\/.*)?)?$/.test(name),
      )
      expect(left.sort()).toEqual(['a.txt', 'c.txt'])
      expect(existsSync(join(s.booted.root, '.vtcode/plans/p.md'))).toBe('.vtcode/plans/p.md' in files)
    }
  })

  it.each(['full_copy', 'summarized'] as const)('keeps the chosen mode in a fork: %s', async (fork) => {
    const place = hold(await home(hold(await startPeer([{ content: 'hello' }]))))
    const kernel = hold(
      await createKernel({ workspace: place.root, home: place.home }).then((made) =>
        Object.assign(made, { [Symbol.asyncDispose]: () => made.close() }),
      ),
    )
    const agent = await createAgent(kernel, { env: {} })
    expect([agent.mode, await agent.setMode('plan'), agent.mode]).toEqual(['ask', 'plan', 'plan'])
    await agent.run('hello')
    await agent.close()
    const forked = await createAgent(kernel, { env: {}, resume: agent.session_id, fork })
    expect(forked.mode).toBe('plan')
    await forked.close()
  })
})
