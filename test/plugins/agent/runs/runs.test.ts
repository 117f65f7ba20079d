import { describe, expect, it } from 'vitest'
import { readEvents, reduce, reduceLog, RunReducer, toArguments } from '../../../../build/plugins/agent/runs/index.js'
import { fc } from '../../../support/property.js'
import { TraceLog } from '../../../support/trace_log.js'

const faults = () => ({ damaged: 0, torn: false }) as { damaged: number; torn: boolean; newer?: string }

/** Splits bytes at the given places, in the middle of characters too. */
async function* chunksOf(text: string, places: readonly number[]) {
  const bytes = Buffer.from(text)
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  for (const [at, end] of cuts.slice(1).entries()) yield bytes.subarray(cuts[at]!, end)
}
async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of all) found.push(one)
  return found
}

interface Step {
  calls: ('ok' | 'failed' | 'unfinished')[]
  text: string
}
/** Turns of steps; an unfinished call ends the step that asked for it. */
const turns = fc.array(
  fc.array(
    fc.record<Step>({
      calls: fc.array(fc.constantFrom('ok', 'failed', 'unfinished'), { maxLength: 3 }),
      text: fc.string({ unit: fc.constantFrom('a', 'é', '😀', '\n', '"', '\u2028'), maxLength: 4 }),
    }),
    { maxLength: 3 },
  ),
  { minLength: 1, maxLength: 3 },
)
function logOf(plan: readonly (readonly Step[])[]): TraceLog {
  const log = new TraceLog().begin()
  for (const steps of plan) {
    log.ask('go')
    for (const { calls, text } of steps) {
      log.say({ type: 'agent_message', text, status: 'completed' })
      for (const call of calls)
        log.call('t', {}, call === 'ok' ? {} : call === 'failed' ? { error_code: 'VT_X' } : { output: null })
      log.stepEnd()
    }
    log.turnEnd()
  }
  return log.end()
}

describe('readEvents', () => {
  it('yields the same events for any split into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.array(fc.nat(), { maxLength: 20 }), async (plan, places) => {
        const { text, events } = logOf(plan)
        const found = faults()
        expect(await collect(readEvents(chunksOf(text, places), found))).toEqual(events)
        expect(found).toEqual(faults())
      }),
    )
  })

  it('yields each whole line of a log that was cut, and reports the torn one', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.nat(), async (plan, at) => {
        const { text, events } = logOf(plan)
        const cut = text.slice(0, at % (text.length + 1))
        const found = faults()
        const read = await collect(readEvents(chunksOf(cut, []), found))
        const lines = cut.split('\n')
        // A line without its line break is whole when only the line break is missing.
        const whole = lines.length - 1 + Number(text.startsWith(`${cut}\n`) && lines.at(-1) !== '')
        expect(read).toEqual(events.slice(0, whole))
        expect(found.torn).toBe(lines.at(-1) !== '')
      }),
    )
  })
})

describe('reduce', () => {
  it('puts each call and text into exactly one step, and its totals are the sums of the steps', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (plan) => {
        const { events, text } = logOf(plan)
        const run = reduce(events)
        expect(await reduceLog(readEvents(chunksOf(text, []), faults()))).toEqual(run)
        const steps = run.turns.flatMap(({ entries }) => entries.filter((entry) => entry.kind === 'step'))
        expect(run.turns.map(({ entries }) => entries.filter(({ kind }) => kind === 'step').length)).toEqual(
          plan.map(({ length }) => length),
        )
        expect(steps.map(({ texts }) => texts.map((one) => one.text))).toEqual(plan.flat().map((step) => [step.text]))
        expect(steps.map(({ calls }) => calls.map(({ status }) => status))).toEqual(
          plan
            .flat()
            .map(({ calls }) =>
              calls.map((call) => ({ ok: 'completed', failed: 'failed', unfinished: 'in_progress' })[call]),
            ),
        )
        const calls = plan.flat().flatMap((step) => step.calls)
        expect(run.totals).toMatchObject({
          turns: plan.length,
          steps: steps.length,
          calls: calls.filter((call) => call !== 'unfinished').length,
          failed_calls: calls.filter((call) => call === 'failed').length,
          unknown_events: 0,
        })
        expect(run.totals.usage.input_tokens).toBe(steps.reduce((sum, { usage }) => sum + usage.input_tokens, 0))
        expect(run.totals.cost_usd).toBeCloseTo(
          steps.reduce((sum, { cost_usd }) => sum + cost_usd!, 0),
          9,
        )
        expect(steps.map(({ position }) => position)).toEqual(steps.map((_, index) => index + 1))
      }),
    )
  })

  it('closes each turn and run of a log that was cut between two events', () => {
    fc.assert(
      fc.property(turns, fc.nat(), (plan, at) => {
        const { events } = logOf(plan)
        const reducer = new RunReducer()
        const pieces = events.slice(0, at % (events.length + 1)).flatMap((event) => reducer.add(event))
        pieces.push(...reducer.end())
        const count = (kind: string): number => pieces.filter((piece) => piece.kind === kind).length
        expect(count('turn_start')).toBe(count('turn_end'))
        expect(reducer.end()).toEqual([])
      }),
    )
  })
})

describe('toArguments', () => {
  it('keeps an object and puts any other value under `value`', () => {
    const call = (given: unknown) => ({ arguments: given }) as Parameters<typeof toArguments>[0]
    expect([{ a: 1 }, [1], 'x', null, undefined].map((given) => toArguments(call(given)))).toEqual([
      { a: 1 },
      { value: [1] },
      { value: 'x' },
      { value: null },
      {},
    ])
  })
})
