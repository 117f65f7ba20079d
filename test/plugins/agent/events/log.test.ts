import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { describeInput, Events } from '../../../../build/plugins/agent/events/index.js'
import { fc, runs } from '../../../support/property.js'

type Body = Parameters<Events['emit']>[0]
const clock = { now: () => 0, sleep: async () => {} }
const error = (message: string): Body => ({ type: 'error', message, code: 'VT_INTERNAL' }) as Body

describe('Events', () => {
  it('sends events to every sink in order without a gap and drops a sink that fails', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 8 }),
        fc.nat({ max: 8 }),
        fc.nat({ max: 5 }),
        async (waits, failing, before) => {
          const events = new Events('th_1', clock, before)
          const told: Record<'slow' | 'fast' | 'broken', number[]> = { slow: [], fast: [], broken: [] }
          events.add(async ({ seq }) => {
            await sleep(waits[seq - before - 1])
            told.slow.push(seq)
          })
          events.add(({ seq }) => {
            told.broken.push(seq)
            if (told.broken.length > failing) throw new Error('full')
          })
          events.add(({ seq }) => {
            // Earlier sinks get each event first.
            expect(told.slow.at(-1)).toBe(seq)
            told.fast.push(seq)
          })
          const sent = await Promise.allSettled(waits.map((_, index) => events.emit(error(`m${index}`))))
          const numbers = waits.map((_, index) => before + index + 1)
          expect(told).toEqual({ slow: numbers, fast: numbers, broken: numbers.slice(0, failing + 1) })
          expect(sent.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual(
            failing < waits.length ? [failing] : [],
          )
          expect(events.count).toBe(before + waits.length)
        },
      ),
      { numRuns: runs(30) },
    )
  })
  it('closes what is still open, the last first and once, and redacts secrets', async () => {
    const events = new Events('th_1', clock)
    const seen: string[] = []
    events.add(
      (event) =>
        void (
          event.type.startsWith('item.') &&
          seen.push(
            `${event.type} ${(event as { item: { id: string; status: string } }).item.id} ${(event as { item: { status: string } }).item.status}`,
          )
        ),
    )
    events.add((event) => void (event.type === 'error' && seen.push(event.message)))
    const item = (id: string, status = 'in_progress') =>
      ({ id, type: 'agent_message', text: '', status }) as Parameters<Events['start']>[0]
    await events.start(item('a'))
    await events.start(item('b'))
    await events.start(item('c'))
    await events.complete(item('b', 'completed'))
    await events.closeOpen('cancelled')
    await events.closeOpen('failed')
    await events.emit(error(`ghp_${'a1'.repeat(18)}`))
    expect(seen).toEqual([
      ...['a', 'b', 'c'].map((id) => `item.started ${id} in_progress`),
      'item.completed b completed',
      'item.completed c cancelled',
      'item.completed a cancelled',
      '[redacted:github_token]',
    ])
  })
})

it('shortens a call to its action and its first text on one line without control characters', () => {
  expect([
    describeInput({ path: 'a', action: 'read', n: 1 }),
    describeInput({ n: 1 }),
    describeInput(undefined),
    describeInput({ command: 'a\nb\u001b[2J' }),
    describeInput({ a: 'x'.repeat(500) }).length,
  ]).toEqual(['read a', '', '', 'a b\\u{1b}[2J', 100])
})
