import { Cron } from 'croner'
import { sha256 } from '../../../core/system/index.js'
import { createExpressionError } from './errors.js'
import type { Timing } from './types.js'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 }
const toIso = (ms: number): string => new Date(ms).toISOString()

/** Parses `90s`, `10m`, `2h` or `1d` as seconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS]
}

/** Returns the named time zone, or that of this machine. Throws VT_SCHED_BAD_EXPRESSION. */
export function resolveTimeZone(name?: string): string {
  try {
    return new Intl.DateTimeFormat('en', name === undefined ? {} : { timeZone: name }).resolvedOptions().timeZone
  } catch {
    throw createExpressionError(
      `Unknown time zone '${name}'.`,
      'Use a name of the IANA database, for example --tz Europe/Berlin. Without --tz the zone of this machine counts.',
    )
  }
}

/** Parses an interval that starts at `now`. Throws VT_SCHED_BAD_EXPRESSION. */
export function parseInterval(text: string, now: number): Timing {
  const seconds = parseDuration(text)
  if (seconds === undefined || seconds < 60 || seconds > 366 * UNIT_SECONDS.d)
    throw createExpressionError(
      `Invalid interval --every '${text}': it must be from 60s to 366d.`,
      'Use a number and one of s, m, h, d, for example --every 10m.',
    )
  return { type: 'fixed_interval', seconds, anchor: toIso(now) }
}

/** Parses five cron fields or a nickname. Throws VT_SCHED_BAD_EXPRESSION, also for a date that never occurs. */
export function parseCron(expression: string, tz: string, now: number): Timing {
  const timing: Timing = { type: 'cron5', expression: expression.trim(), tz }
  const fields = timing.expression.split(/\s+/)
  const count = timing.expression === '' ? 0 : fields.length
  if (fields.length !== 5 && !(fields.length === 1 && /^@[a-z]+$/i.test(timing.expression)))
    throw createExpressionError(`Invalid schedule '${expression}': it has ${count} fields instead of five.`)
  if (expression.length > 256)
    throw createExpressionError(`Invalid schedule: it has ${expression.length} characters; the limit is 256.`)
  if (findNextBase(timing, now) === undefined)
    throw createExpressionError(`Invalid schedule '${expression}': the date never occurs.`)
  return timing
}

/** Parses an instant: RFC 3339, `YYYY-MM-DD HH:MM`, or the next `HH:MM` in a zone. Throws VT_SCHED_BAD_EXPRESSION. */
export function parseOnce(text: string, tz: string, now: number): Timing {
  const at = parseInstant(text.trim(), tz, now)
  if (at === undefined)
    throw createExpressionError(
      `Invalid time --at '${text}'.`,
      "Use for example --at 18:30, --at '2027-01-31 09:00' or --at 2027-01-31T09:00:00+01:00.",
    )
  if (at <= now)
    throw createExpressionError(`The time --at '${text}' is in the past: ${toIso(at)}.`, 'Use a time in the future.')
  return { type: 'one_shot', at: toIso(at) }
}

function parseInstant(text: string, tz: string, now: number): number | undefined {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text)
  if (clock)
    return findNextBase({ type: 'cron5', expression: `${Number(clock[2])} ${Number(clock[1])} * * *`, tz }, now)
  const [, year, month, day, hour, min] = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)$/.exec(text) ?? []
  if (year !== undefined) {
    const utc = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(min))
    // No zone differs from UTC by more than 14 hours. A date that the calendar does not have, such as the 30th of
    // February, does not match in these two days.
    if (new Date(utc).getUTCDate() !== Number(day) || Number(hour) > 23 || Number(min) > 59) return undefined
    return findNextBase(
      { type: 'cron5', expression: `${Number(min)} ${Number(hour)} ${Number(day)} ${Number(month)} *`, tz },
      utc - 24 * 60 * MINUTE_MS,
    )
  }
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/i.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

const compiledCrons = new Map<string, Cron>()
/** Compiles an expression; compiled ones are cached. Throws VT_SCHED_BAD_EXPRESSION. */
function compileCron({ expression, tz }: Extract<Timing, { type: 'cron5' }>): Cron {
  const key = `${tz} ${expression}`
  const known = compiledCrons.get(key)
  if (known) return known
  try {
    const cron = new Cron(expression, { paused: true, mode: '5-part', timezone: tz })
    if (compiledCrons.size > 20_000) compiledCrons.clear()
    compiledCrons.set(key, cron)
    return cron
  } catch (error) {
    throw createExpressionError(`Invalid schedule '${expression}': ${formatReason(error)}`)
  }
}

/** Formats the reason of the library, which counts days and months from 0. */
const formatReason = (error: unknown): string =>
  (error as Error).message
    .replace(/^CronPattern: /, '')
    .replace(/(?<=Invalid value for (?:day|month): )\d+/, (value) => `${Number(value) + 1}`)
    .replace(/\.?$/, '.')

/**
 * Returns the first time after an instant, in milliseconds; `undefined` if none follows. Throws
 * VT_SCHED_BAD_EXPRESSION.
 */
export function findNextBase(timing: Timing, after: number): number | undefined {
  if (timing.type === 'one_shot') return Date.parse(timing.at) > after ? Date.parse(timing.at) : undefined
  if (timing.type === 'fixed_interval') {
    const [anchor, period] = [Date.parse(timing.anchor), timing.seconds * SECOND_MS]
    return anchor + Math.max(1, Math.floor((after - anchor) / period) + 1) * period
  }
  const cron = compileCron(timing)
  try {
    return cron.nextRun(new Date(after))?.getTime()
  } catch (error) {
    throw createExpressionError(`'${timing.expression}' in ${timing.tz} has no next time: ${formatReason(error)}`)
  }
}

/**
 * Returns the milliseconds by which a base time is moved, always the same for the same time. The limit is a tenth of
 * the period and 15 minutes; a single time on the hour or half hour is moved up to 90 s earlier.
 */
export function computeJitter(
  { id, jitter, schedule }: { id: string; jitter: boolean; schedule: Timing },
  base: number,
): number {
  if (!jitter) return 0
  const share = Number.parseInt(sha256(`${id}:${base}`).slice(0, 8), 16) / 0x1_0000_0000
  if (schedule.type === 'one_shot') return base % (30 * MINUTE_MS) === 0 ? -Math.floor(share * 90 * SECOND_MS) : 0
  const period =
    schedule.type === 'fixed_interval' ? schedule.seconds * SECOND_MS : (findNextBase(schedule, base) ?? base) - base
  return Math.floor(share * Math.min(period / 10, 15 * MINUTE_MS))
}

/** Returns the next run after an instant, as two fields of a state. */
export function findNextRuns(
  task: { id: string; jitter: boolean; schedule: Timing },
  after: number,
): { next_base_run_at: string | null; next_run_at: string | null } {
  const base = findNextBase(task.schedule, after)
  return base === undefined
    ? { next_base_run_at: null, next_run_at: null }
    : { next_base_run_at: toIso(base), next_run_at: toIso(base + computeJitter(task, base)) }
}
