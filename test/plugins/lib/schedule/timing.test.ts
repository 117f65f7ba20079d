import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  parseCron,
  parseInterval,
  computeJitter,
  findNextBase,
  parseOnce,
  parseDuration,
  resolveTimeZone,
  type Timing,
} from '../../../../build/plugins/lib/schedule/index.js'

/** Instants of another program by docs/schedules.md and the time zone table, per zone around clock changes. */
const table = JSON.parse(readFileSync(new URL('../../../fixtures/schedules.json', import.meta.url), 'utf8')) as Record<
  string,
  { from: string[]; expressions: Record<string, string[][]> }
>
const codeOf = (run: () => unknown): string => {
  try {
    return `no error: ${JSON.stringify(run())}`
  } catch (error) {
    const { code, problem } = error as { code: string; problem: { message: string; hint: string } }
    return `${code}: ${problem.message} ${problem.hint}`
  }
}
const now = Date.parse('2026-01-01T12:00:00Z')

describe('cron expressions', () => {
  it('matches the instants of another program for 40 expressions in four zones over clock changes', () => {
    const wrong: string[] = []
    let asked = 0
    for (const [tz, { from, expressions }] of Object.entries(table))
      for (const [expression, rows] of Object.entries(expressions))
        for (const [index, wanted] of rows.entries()) {
          let at = Date.parse(from[index]!)
          const found = wanted.map(() =>
            new Date((at = findNextBase({ type: 'cron5', expression, tz }, at)!))
              .toISOString()
              .replace(':00.000Z', 'Z'),
          )
          asked += 1
          if (found.join() !== wanted.join())
            wrong.push(`${tz} ${expression} from ${from[index]}: ${found.join(' ')}, not ${wanted.join(' ')}`)
        }
    expect([Object.keys(table).length, asked]).toEqual([4, 640])
    expect(wrong).toEqual([])
  })
  it('rejects an invalid expression with the reason and an example', () => {
    const bad: [string, RegExp][] = [
      ['', /has 0 fields/],
      ['* * * *', /has 4 fields/],
      ['* * * * * *', /has 6 fields/],
      ['every monday', /has 2 fields/],
      ['2026-01-01T00:00:00', /has 1 fields/],
      ['60 * * * *', /minute: 60/],
      ['0 24 * * *', /hour: 24/],
      ['0 0 32 * *', /day: 32/],
      ['0 0 * 13 *', /month: 13/],
      ['0 9 * * 8', /dayOfWeek: 8/],
      ['*/0 * * * *', /stepping/],
      ['5-1 * * * *', /larger/],
      ['1,2,, * * * *', /empty/],
      ['H * * * *', /illegal/],
      ['@reboot', /reboot/],
      ['0 0 30 2 *', /the date never occurs/],
    ]
    for (const [expression, reason] of bad) {
      const told = codeOf(() => parseCron(expression, 'UTC', now))
      expect(told, expression).toMatch(/^VT_SCHED_BAD_EXPRESSION: /)
      expect(told, expression).toMatch(reason)
      expect(told, expression).toContain('0 9 * * 1-5')
    }
  })
})

describe('intervals and single times', () => {
  it('counts an interval from its anchor without drift', () => {
    const timing = parseInterval('7m', now)
    expect(timing).toEqual({ type: 'fixed_interval', seconds: 420, anchor: '2026-01-01T12:00:00.000Z' })
    expect(
      [now - 5, now, now + 1, now + 420_000, now + 999_999].map((at) => (findNextBase(timing, at)! - now) / 1000),
    ).toEqual([420, 420, 420, 840, 1260])
    expect(['90s', '2h', '1d', '7', '1w', '-5m'].map(parseDuration)).toEqual([
      90,
      7200,
      86_400,
      undefined,
      undefined,
      undefined,
    ])
    for (const bad of ['30s', '367d', 'often', ''])
      expect(
        codeOf(() => parseInterval(bad, now)),
        bad,
      ).toMatch(/^VT_SCHED_BAD_EXPRESSION.*--every 10m/)
  })
  it('reads an instant or a time in a zone, also when the clock skips or repeats it', () => {
    const at = (text: string, tz: string, from = now): string =>
      (parseOnce(text, tz, from) as Extract<Timing, { type: 'one_shot' }>).at
    expect(at('2027-01-31T09:00:00+01:00', 'UTC')).toBe('2027-01-31T08:00:00.000Z')
    expect(at('2027-01-31 09:00', 'Asia/Kolkata')).toBe('2027-01-31T03:30:00.000Z')
    expect(at('18:30', 'Europe/Berlin')).toBe('2026-01-01T17:30:00.000Z')
    expect(at('9:05', 'Europe/Berlin')).toBe('2026-01-02T08:05:00.000Z')
    expect(at('2026-03-08 02:30', 'America/New_York')).toBe('2026-03-08T07:00:00.000Z')
    expect(at('2026-11-01 01:30', 'America/New_York')).toBe('2026-11-01T05:30:00.000Z')
    expect(at('2028-02-29 23:59', 'Pacific/Kiritimati')).toBe('2028-02-29T09:59:00.000Z')
    for (const bad of [
      'tomorrow',
      '24:00',
      '2026-02-30 10:00',
      '2027-13-01 10:00',
      '2027-01-01T10:00:00',
      '2025-12-31T00:00:00Z',
      '',
    ])
      expect(
        codeOf(() => at(bad, 'UTC')),
        bad,
      ).toMatch(/^VT_SCHED_BAD_EXPRESSION/)
  })
  it('reads existing time zones only', () => {
    expect(resolveTimeZone('europe/berlin')).toBe('Europe/Berlin')
    expect(resolveTimeZone()).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone)
    expect(codeOf(() => resolveTimeZone('Mars/Olympus'))).toMatch(
      /^VT_SCHED_BAD_EXPRESSION: Unknown time zone 'Mars\/Olympus'.*Europe\/Berlin/,
    )
  })
})

describe('jitter', () => {
  const of = (schedule: Timing, base: number, id = 'aaaaaaaa', jitter = true): number =>
    computeJitter({ id, jitter, schedule }, base)
  const hourly: Timing = { type: 'fixed_interval', seconds: 3600, anchor: new Date(now).toISOString() }
  const yearly: Timing = { type: 'cron5', expression: '0 0 1 1 *', tz: 'UTC' }
  it('returns a stable jitter per schedule, at most a tenth of the period and 15 minutes', () => {
    const bases = Array.from({ length: 500 }, (_, index) => now + index * 3_600_000)
    const all = bases.map((base) => of(hourly, base))
    expect(bases.map((base) => of(hourly, base))).toEqual(all)
    expect(Math.min(...all)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...all)).toBeLessThanOrEqual(360_000)
    expect(Math.max(...all) - Math.min(...all)).toBeGreaterThan(300_000)
    expect(of(hourly, now, 'bbbbbbbb')).not.toBe(of(hourly, now))
    expect(Math.max(...Array.from({ length: 200 }, (_, index) => of(yearly, now, `${index}`)))).toBeLessThanOrEqual(
      900_000,
    )
  })
  it('moves a single time on the half hour up to 90 s forward, no other, and none when off', () => {
    const once = (base: number): number => of({ type: 'one_shot', at: new Date(base).toISOString() }, base)
    const early = Array.from({ length: 200 }, (_, index) => once(now + index * 1_800_000))
    expect(Math.min(...early)).toBeGreaterThanOrEqual(-90_000)
    expect(Math.max(...early)).toBeLessThanOrEqual(0)
    expect(once(now + 60_000)).toBe(0)
    expect([hourly, yearly].map((schedule) => of(schedule, now, 'aaaaaaaa', false))).toEqual([0, 0])
  })
})
