import { Cron } from 'croner'
import { sha256 } from '../../../core/system/index.js'
import { badExpression } from './errors.js'
import type { Timing } from './types.js'

const second = 1000
const minute = 60 * second
const units = { s: 1, m: 60, h: 3600, d: 86_400 }
const iso = (ms: number): string => new Date(ms).toISOString()

/** Seconds of `90s`, `10m`, `2h` or `1d`; `undefined` for anything else. */
export function secondsOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(count) * units[unit as keyof typeof units]
}

/** The zone of this machine, or the one that is named. Throws VT_SCHED_BAD_EXPRESSION. */
export function zoneOf(name?: string): string {
  try {
    return new Intl.DateTimeFormat('en', name === undefined ? {} : { timeZone: name }).resolvedOptions().timeZone
  } catch {
    throw badExpression(
      `'${name}' is no time zone.`,
      'Name it as the IANA database does, as in --tz Europe/Berlin; without --tz it is the zone of this machine.',
    )
  }
}

/** Each so often from `now` on. Throws VT_SCHED_BAD_EXPRESSION. */
export function intervalTiming(text: string, now: number): Timing {
  const seconds = secondsOf(text)
  if (seconds === undefined || seconds < 60 || seconds > 366 * units.d)
    throw badExpression(
      `--every '${text}' is no interval from 60s to 366d.`,
      'A number and one of s, m, h, d, as in --every 10m.',
    )
  return { type: 'fixed_interval', seconds, anchor: iso(now) }
}

/** By five fields or a nickname. Throws VT_SCHED_BAD_EXPRESSION with the reason, also for what never comes. */
export function cronTiming(expression: string, tz: string, now: number): Timing {
  const timing: Timing = { type: 'cron5', expression: expression.trim(), tz }
  const fields = timing.expression.split(/\s+/)
  if (fields.length !== 5 && !(fields.length === 1 && /^@[a-z]+$/i.test(timing.expression)))
    throw badExpression(`'${expression}' has ${timing.expression === '' ? 0 : fields.length} fields and not five.`)
  if (expression.length > 256)
    throw badExpression(`The expression has ${expression.length} characters; at most 256 are possible.`)
  if (nextBase(timing, now) === undefined) throw badExpression(`'${expression}' names no day that comes.`)
  return timing
}

/** Once, at an instant: RFC 3339, `YYYY-MM-DD HH:MM` or the next `HH:MM` in a zone. Throws VT_SCHED_BAD_EXPRESSION. */
export function onceTiming(text: string, tz: string, now: number): Timing {
  const at = instantOf(text.trim(), tz, now)
  if (at === undefined)
    throw badExpression(
      `--at '${text}' is no time.`,
      "As in --at 18:30, --at '2027-01-31 09:00' or --at 2027-01-31T09:00:00+01:00.",
    )
  if (at <= now) throw badExpression(`--at '${text}' is past: ${iso(at)}.`, 'Name a time that comes.')
  return { type: 'one_shot', at: iso(at) }
}

function instantOf(text: string, tz: string, now: number): number | undefined {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text)
  if (clock) return nextBase({ type: 'cron5', expression: `${Number(clock[2])} ${Number(clock[1])} * * *`, tz }, now)
  const [, year, month, day, hour, min] = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)$/.exec(text) ?? []
  if (year !== undefined) {
    const utc = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(min))
    // No zone is further from UTC than 14 hours; what the calendar has not, such as the 30th of February, is not met in these two days.
    if (new Date(utc).getUTCDate() !== Number(day) || Number(hour) > 23 || Number(min) > 59) return undefined
    return nextBase(
      { type: 'cron5', expression: `${Number(min)} ${Number(hour)} ${Number(day)} ${Number(month)} *`, tz },
      utc - 24 * 60 * minute,
    )
  }
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/i.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

const compiled = new Map<string, Cron>()
/** Expressions are few and asked often. Throws VT_SCHED_BAD_EXPRESSION. */
function cronOf({ expression, tz }: Extract<Timing, { type: 'cron5' }>): Cron {
  const key = `${tz} ${expression}`
  const known = compiled.get(key)
  if (known) return known
  try {
    const cron = new Cron(expression, { paused: true, mode: '5-part', timezone: tz })
    if (compiled.size > 20_000) compiled.clear()
    compiled.set(key, cron)
    return cron
  } catch (error) {
    throw badExpression(`'${expression}' is no cron expression: ${reasonOf(error)}`)
  }
}

/** The reason in the words of the library; days and months it counts from 0. */
const reasonOf = (error: unknown): string =>
  (error as Error).message
    .replace(/^CronPattern: /, '')
    .replace(/(?<=Invalid value for (?:day|month): )\d+/, (value) => `${Number(value) + 1}`)
    .replace(/\.?$/, '.')

/** The first time after an instant, in milliseconds; `undefined` where none comes. Throws VT_SCHED_BAD_EXPRESSION. */
export function nextBase(timing: Timing, after: number): number | undefined {
  if (timing.type === 'one_shot') return Date.parse(timing.at) > after ? Date.parse(timing.at) : undefined
  if (timing.type === 'fixed_interval') {
    const [anchor, period] = [Date.parse(timing.anchor), timing.seconds * second]
    return anchor + Math.max(1, Math.floor((after - anchor) / period) + 1) * period
  }
  const cron = cronOf(timing)
  try {
    return cron.nextRun(new Date(after))?.getTime()
  } catch (error) {
    throw badExpression(`'${timing.expression}' in ${timing.tz} has no next time: ${reasonOf(error)}`)
  }
}

/** Milliseconds by which a base time is moved: the same wherever and whenever it is asked, at most a tenth of the period and 15 minutes; a single time on the hour or half hour comes up to 90 s early. */
export function jitterOf(
  { id, jitter, schedule }: { id: string; jitter: boolean; schedule: Timing },
  base: number,
): number {
  if (!jitter) return 0
  const share = Number.parseInt(sha256(`${id}:${base}`).slice(0, 8), 16) / 0x1_0000_0000
  if (schedule.type === 'one_shot') return base % (30 * minute) === 0 ? -Math.floor(share * 90 * second) : 0
  const period =
    schedule.type === 'fixed_interval' ? schedule.seconds * second : (nextBase(schedule, base) ?? base) - base
  return Math.floor(share * Math.min(period / 10, 15 * minute))
}

/** The two fields of a state that say what comes after an instant. */
export function nextRuns(
  task: { id: string; jitter: boolean; schedule: Timing },
  after: number,
): { next_base_run_at: string | null; next_run_at: string | null } {
  const base = nextBase(task.schedule, after)
  return base === undefined
    ? { next_base_run_at: null, next_run_at: null }
    : { next_base_run_at: iso(base), next_run_at: iso(base + jitterOf(task, base)) }
}
