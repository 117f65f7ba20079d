import { describe, expect, it } from 'vitest'
import { LoopDetector, type AgentSettings } from '../../../../build/plugins/agent/base/index.js'
import { readArguments, TurnLimits } from '../../../../build/plugins/agent/loop/index.js'
import { fc } from '../../../support/property.js'

describe('turn limits', () => {
  const limits = (harness: Partial<AgentSettings['harness']> = {}, max_tool_loops = 0) => {
    const settings = {
      harness: {
        max_tool_calls_per_turn: 0,
        max_tool_wall_clock_secs: 0,
        max_consecutive_blocked_tool_calls_per_turn: 0,
        ...harness,
      },
      tools: { max_tool_loops },
    } as unknown as AgentSettings
    return new TurnLimits(settings, new LoopDetector())
  }
  const traits = (identity: string, continues = false) => ({ identity, continues })
  const denied = { ok: false as const, error: { code: 'VT_POLICY_DENIED', message: '', hint: '', retryable: false } }
  const done = { ok: true as const, output: {} }

  it('allows as many calls as the limits permit and no more, and treats 0 as no limit', () => {
    fc.assert(
      fc.property(fc.nat({ max: 6 }), fc.nat({ max: 12 }), (most, wanted) => {
        const turn = limits({ max_tool_calls_per_turn: most })
        const codes = Array.from({ length: wanted }, (_, index) => turn.refuse(traits(`call ${index}`))?.code)
        const allowed = most === 0 ? wanted : Math.min(most, wanted)
        expect(codes).toEqual([
          ...Array<undefined>(allowed).fill(undefined),
          ...Array<string>(wanted - allowed).fill('VT_LOOP_CALL_LIMIT'),
        ])
        expect(turn.counts.tool_calls).toBe(allowed)
        expect(turn.reachedLimit).toBe(most > 0 && wanted >= most ? 'agent.harness.max_tool_calls_per_turn' : undefined)
      }),
    )
  })
  it('counts time without waits and background polls, and counts tool loops', () => {
    const turn = limits({ max_tool_wall_clock_secs: 1 }, 2)
    turn.note(traits('poll', true), ['exec'], done, { text: '' }, 5000)
    turn.note(traits('a'), ['exec'], done, { text: '' }, 999)
    turn.note(traits('b'), ['exec'], done, { text: '' }, -50)
    expect([turn.counts.wall_ms, turn.reachedLimit]).toEqual([999, undefined])
    turn.note(traits('c'), ['exec'], done, { text: '' }, 1)
    expect(turn.reachedLimit).toBe('agent.harness.max_tool_wall_clock_secs')
    turn.counts.tool_loops = 2
    expect(turn.reachedLimit).toBe('tools.max_tool_loops')
  })
  it('ends a turn after a row of refusals, and one successful call resets the count', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 10 }), fc.integer({ min: 1, max: 4 }), (results, most) => {
        const turn = limits({ max_consecutive_blocked_tool_calls_per_turn: most })
        let row = 0
        results.forEach((ok, index) => {
          turn.note(traits(`call ${index}`), ['write'], ok ? done : denied, { text: `${index}` }, 1)
          row = ok ? 0 : row + 1
          expect(turn.isLooping).toBe(row >= most)
        })
      }),
    )
  })
  it('detects a loop whatever time each call took and refuses calls after a cancel', () => {
    const turn = limits()
    const texts = [1, 20, 3.5, 400].map(
      (time) => turn.note(traits('same'), ['exec'], done, { text: `done in ${time} ms` }, time).text,
    )
    expect(texts.map((text) => text.includes('[VT_LOOP_CYCLE]'))).toEqual([false, false, false, true])
    turn.step.cancelled = true
    expect(turn.refuse(traits('other'))?.code).toBe('VT_CALL_ABORTED')
  })
})

describe('call arguments', () => {
  const read = (
    text: string,
    finish: 'stop' | 'length' = 'stop',
    effects: readonly ('read' | 'write' | 'exec')[] = ['write'],
  ) => readArguments({ name: 't', text } as Parameters<typeof readArguments>[0], finish, async () => effects)

  it('returns arguments as written, also from a JSON text inside a JSON text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), async (input) => {
        const expected = { input: JSON.parse(JSON.stringify(input)) as unknown }
        expect(await read(JSON.stringify(input))).toEqual(expected)
        expect(await read(JSON.stringify(JSON.stringify(input)))).toEqual(expected)
      }),
    )
    expect(await read(' ')).toEqual({ input: {} })
  })
  it('repairs cut arguments for reading calls only, and never when the answer was cut', async () => {
    const whole = JSON.stringify({ path: 'a', text: 'one "two"' })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: whole.length - 1 }),
        fc.constantFrom(['write' as const], ['exec' as const], ['read' as const, 'write' as const]),
        async (at, effects) => {
          const cut = whole.slice(0, at)
          expect(await read(cut, 'stop', effects)).toMatchObject({ input: cut, fault: { code: 'VT_LLM_BAD_JSON' } })
          expect(await read(cut, 'length', ['read'])).toMatchObject({
            input: cut,
            fault: { code: 'VT_LLM_CALL_TRUNCATED' },
          })
        },
      ),
    )
    expect(await read("{path: 'a',}", 'stop', ['read'])).toEqual({ input: { path: 'a' } })
    for (const text of ['[1]', '1', 'null', 'text'])
      expect(await read(text)).toMatchObject({ fault: { code: 'VT_LLM_BAD_JSON' } })
  })
})
