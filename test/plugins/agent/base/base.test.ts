import { describe, expect, it } from 'vitest'
import {
  findEarlierResult,
  createIdMaker,
  LoopDetector,
  createSeededRandom,
  toModelText,
  createUuid,
} from '../../../../build/plugins/agent/base/index.js'
import { fc, runs } from '../../../support/property.js'

describe('id generators', () => {
  it('sorts ids by creation time and repeats them for the same seed', () => {
    const time = fc.integer({ min: 0, max: 2 ** 47 })
    fc.assert(
      fc.property(fc.uniqueArray(time, { minLength: 2, maxLength: 6 }), fc.integer(), (times, seed) => {
        const make = () => {
          let now = 0
          const id = createIdMaker({ now: () => now, sleep: async () => {} }, createSeededRandom(seed))
          return times.map((time) => ((now = time), id('th')))
        }
        const ids = make()
        expect(ids).toEqual(make())
        for (const id of ids) expect(id).toMatch(/^th_[0-9A-HJKMNP-TV-Z]{26}$/)
        const inOrder = [...times].sort((a, b) => a - b).map((time) => ids[times.indexOf(time)]!)
        expect([...ids].sort()).toEqual(inOrder)
      }),
    )
    expect(createUuid(createSeededRandom(1))).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
  })
})

describe('LoopDetector', () => {
  const writes = { quiet: false, write: true }
  const runsOnly = { quiet: false, write: false }
  const quiet = { quiet: true, write: false }

  it('allows every call whose result is new', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(writes, runsOnly, quiet)), { maxLength: 60 }),
        (calls) => {
          const detector = new LoopDetector()
          calls.forEach(([identity, effects], index) => {
            expect(detector.describeLoop(identity)).toBeUndefined()
            expect(detector.record(identity, `result ${index}`, effects)).toBeUndefined()
          })
        },
      ),
      { numRuns: runs(200) },
    )
  })
  it('warns at the fourth equal result and refuses after the eighth, unless a change came between', () => {
    const detector = new LoopDetector()
    const remarks = Array.from({ length: 8 }, () => [
      detector.describeLoop('a'),
      detector.record('a', 'same', runsOnly),
    ])
    expect(remarks.map(([objection, remark]) => [objection, remark !== undefined])).toEqual(
      Array.from({ length: 8 }, (_, n) => [undefined, n === 3]),
    )
    expect(detector.describeLoop('a')).toContain('8 times')
    expect(detector.describeLoop('b')).toBeUndefined()
    detector.record('b', 'x', writes)
    expect(detector.describeLoop('a')).toBeUndefined()
  })
  it('refuses a cycle of two to six calls after four rounds, unless one result differs', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 6 }), fc.option(fc.nat({ max: 23 })), (period, other) => {
        const detector = new LoopDetector()
        const round = Array.from({ length: period * 4 }, (_, index) => `call ${index % period}`)
        round.forEach((identity, index) => {
          expect(detector.describeLoop(identity)).toBeUndefined()
          detector.record(identity, index === other ? 'another' : `of ${identity}`, quiet)
        })
        const broken = other !== null && other < round.length
        expect(detector.describeLoop('call 0') === undefined).toBe(broken)
        expect(detector.describeLoop('something else')).toBeUndefined()
      }),
      { numRuns: runs(200) },
    )
  })
})

describe('toModelText', () => {
  it('lists the code, the hint and the next step of a failure, and its remarks', () => {
    const { text, is_error } = toModelText({
      ok: false,
      error: { code: 'VT_X', message: 'm', hint: 'h', retryable: false, next: { tool: 't', input: { a: 1 } } },
      notices: [{ code: 'VT_N', message: 'n' }],
    })
    expect([is_error, text.split('\n')]).toEqual([true, ['ERROR VT_X: m', 'Hint: h', 'Next: t {"a":1}', '[VT_N] n']])
    expect(toModelText({ ok: true, output: { spool_path: '.vtcode/spool/a' }, text: 't' })).toEqual({
      text: 't',
      is_error: false,
      spool_path: '.vtcode/spool/a',
    })
  })
  it('adds a short or full "Say:" line for a change that was not applied, unless a next call follows', () => {
    const told = (say: string, next?: { tool: string; input: object }) =>
      toModelText({
        ok: false,
        error: {
          code: 'VT_X',
          message: 'The file changed.',
          hint: '',
          retryable: false,
          details: { not_applied: true, say },
          ...(next && { next }),
        },
      } as never)
        .text.split('\n')
        .slice(1)
    expect(told('Not applied. The rule denies it.')).toEqual(['Say: Not applied. The rule denies it.'])
    expect(told('Not applied. The file changed.')).toEqual(['Say: Not applied. Add why, and the next action.'])
    expect(told('Not applied. The file changed.', { tool: 't', input: {} })).toEqual(['Next: t {}'])
    expect(told('Not applied. The rule denies it.', { tool: 't', input: {} })).toEqual([
      'Next: t {}',
      'Say: Not applied. The rule denies it.',
    ])
  })
  it('refers to an earlier result only when that is long, whole and equal', () => {
    const long = 'x'.repeat(200)
    const message = (text: string, is_error = false) => [
      {
        role: 'tool' as const,
        parts: [{ type: 'tool_result' as const, call_id: 'c', tool_call_id: 'c', name: 't', text, is_error }],
      },
    ]
    const found = (before: string, now: string, is_error = false, same = new Set(['c'])) =>
      findEarlierResult(message(before, is_error), same, now)?.call_id
    expect([found(long, long), found(long, `${long}\n[VT_N] n`)]).toEqual(['c', 'c'])
    expect([
      found(long, `${long}x`),
      found(long, `y${long}`),
      found(long.slice(1), long.slice(1)),
      found(long, long, true),
      found(long, long, false, new Set()),
    ]).toEqual(Array(5).fill(undefined))
  })
})
