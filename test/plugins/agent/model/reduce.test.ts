import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { addUsage, noUsage, estimateMessages, withTimeouts } from '../../../../build/plugins/agent/model/index.js'
import { fc } from '../../../support/property.js'

describe('withTimeouts', () => {
  const never = () => new AbortController().signal
  const times = (first_ms: number, total_ms: number) => ({ first_ms, total_ms, reported_ms: total_ms })

  it('extends the time on signs of life and ends on silence, total time or cancel', async () => {
    const speak = async (times: number, signal: AbortSignal, alive: (stage: 'idle', ms: number) => void) => {
      for (let n = 0; n < times; n++) {
        await sleep(40, undefined, { signal })
        alive('idle', 200)
      }
      return 'said'
    }
    await expect(withTimeouts(never(), times(200, 5000), (signal, alive) => speak(8, signal, alive))).resolves.toBe(
      'said',
    )
    await expect(
      withTimeouts(never(), times(20, 5000), (signal) => sleep(1000, undefined, { signal })),
    ).rejects.toMatchObject({ stage: 'first_token', message: 'no first token for 20 ms' })
    await expect(
      withTimeouts(
        never(),
        times(1000, 5000),
        async (signal, alive) => (alive('idle', 20), sleep(1000, undefined, { signal })),
      ),
    ).rejects.toMatchObject({ stage: 'idle' })
    await expect(
      withTimeouts(never(), times(1000, 100), (signal, alive) => speak(50, signal, alive)),
    ).rejects.toMatchObject({ stage: 'total', message: 'no complete answer for 100 ms' })
    const reason = new Error('enough')
    await expect(withTimeouts(AbortSignal.abort(reason), times(1000, 5000), () => new Promise(() => {}))).rejects.toBe(
      reason,
    )
    const own = new Error('of the work')
    await expect(withTimeouts(never(), times(1000, 5000), () => Promise.reject(own))).rejects.toBe(own)
  })
})

it('sums usage in any order and keeps an estimate marked', () => {
  const count = fc.nat({ max: 99 })
  const usage = fc.record(
    {
      input_tokens: count,
      cached_input_tokens: count,
      cache_creation_tokens: count,
      output_tokens: count,
      reasoning_tokens: count,
      estimated: fc.constant(true as const),
    },
    {
      requiredKeys: ['input_tokens', 'cached_input_tokens', 'cache_creation_tokens', 'output_tokens'],
      noNullPrototype: true,
    },
  )
  fc.assert(
    fc.property(usage, usage, usage, (a, b, c) => {
      expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(c, b)))
      expect(addUsage(a, noUsage)).toEqual(a)
      expect(addUsage(a, b).estimated).toBe(a.estimated ?? b.estimated)
    }),
  )
  const message = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  expect(estimateMessages([message('a'), message('b c')])).toBe(
    estimateMessages([message('a')]) + estimateMessages([message('b c')]),
  )
})
