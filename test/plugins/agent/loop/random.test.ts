import { expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { rounds } from '../../../support/exec.js'
import { scene } from '../../../support/inside.js'
import { checkLog, checkMessages } from '../../../support/invariants.js'
import { call, type Answer } from '../../../support/peer.js'

/** Repeatable random numbers by mulberry32 (public domain). */
function chance(seed: number) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!
  return {
    next,
    pick,
    some: <T>(make: () => T, most: number): T[] => Array.from({ length: 1 + Math.floor(next() * most) }, make),
  }
}

/** Picks an answer of any kind: text, good, bad and denied calls, calls that need approval, endless answers. */
function answer({ next, pick, some }: ReturnType<typeof chance>): Answer {
  const path = () => pick(['a', 'b', 'c/d', '../out', '', 'no/such'])
  const calls = () =>
    pick([
      () => call('unified_file', { action: 'read', path: path() }, pick(['same', undefined, 'x y'])),
      () =>
        call('unified_file', {
          action: 'write',
          path: path(),
          content: 'x\n'.repeat(3),
          mode: pick(['overwrite', 'append', 'fail_if_exists']),
        }),
      () => call('unified_search', { action: pick(['list', 'grep', 'explode']), pattern: 'x' }),
      () => call('unified_exec', { action: 'run', command: pick(['true', 'false', 'echo hi', 'no-such-program']) }),
      () => call('unified_file', { action: 'write', path: '.git/config', content: 'denied' }),
      () =>
        call(
          pick(['no_such_tool', '', 'unified_file']),
          pick(['{"action":"read"', '[]', 'null', '"{}"', '{"path":1}']),
        ),
    ])()
  return pick<() => Answer>([
    () => ({ content: 'words '.repeat(1 + Math.floor(next() * 600)) }),
    () => ({ toolCalls: some(calls, 6) }),
    () => ({ content: 'first this', toolCalls: some(calls, 3) }),
    () => ({ toolCalls: some(calls, 6) }),
    () => ({
      content: 'half of it',
      toolCalls: some(calls, 2),
      how: { truncateAfterChunks: 1 + Math.floor(next() * 4) },
    }),
    () => ({ content: '' }),
    () => ({ content: 'I use <tool_call>{}</tool_call>' }),
    () => ({ toolCalls: some(calls, 2), finishReason: 'length' }),
    () => ({ error: { message: 'down' }, status: pick([429, 500, 503, 400]) }),
  ])()
}

// Every seed is another script, so a failure can be repeated by its number.
it.each(Array.from({ length: rounds(5, 24) }, (_, seed) => seed))(
  'keeps the log whole and answers every call, whatever a model answers: script %i',
  async (seed) => {
    const dice = chance(seed)
    const script = Array.from({ length: 40 }, () => answer(dice))
    const s = await scene(script, {
      boot: { mode: dice.pick(['auto', 'ask', 'plan']), files: { a: 'one\n', 'c/d': 'two\n'.repeat(200) } },
      settings: {
        agent: { model: 'peer/m', harness: { auto_compaction_threshold_tokens: dice.pick([2000, 100_000]) } },
      },
    })
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      onEvent: (event) => void s.events.push(event),
      providers: {
        approval: {
          approve: () =>
            dice.pick([
              true,
              false,
              { decision: 'cancel' as const },
              { decision: 'deny' as const, followup: 'not so' },
            ]),
        },
        clock: { now: () => Date.now(), sleep: async () => {} },
      },
    })
    for (let turn = 0; turn < 6; turn++) {
      const stop = new AbortController()
      // Some turns are interrupted at one of their events, some get an input more.
      let left = dice.next() < 0.3 ? Math.floor(dice.next() * 40) : -1
      s.events.push = (...all) => (left-- === 0 && stop.abort(), Array.prototype.push.apply(s.events, all))
      if (dice.next() < 0.3) await agent.followUp(`and ${turn}`).catch(() => {})
      const { exit_code, outcome_code } = await agent.run(`task ${turn}`, { signal: stop.signal })
      expect(exit_code === 0, `${seed}: ${outcome_code}`).toBe(outcome_code === 'success')
    }
    await agent.close()
    checkLog(s.events)
    for (const { messages } of s.peer.bodies) checkMessages(messages)
  },
)
