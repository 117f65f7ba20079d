import { AgentError, type AskedTask, type SessionTask } from '../base/index.js'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** What divides its unit: so many minutes of an hour, hours of a day, whole days. */
const intervals = [
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((count) => count * minute),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * hour),
  ...Array.from({ length: 30 }, (_, days) => (days + 1) * day),
]
const usual = '10m'
const units: Record<string, number> = { s: 1, m: minute, h: hour, d: day }

const how = {
  hint: '/loop 10m <prompt>, /loop <prompt> every 2h, /remind 18:30 <text>, /remind +45m <text>; an interval is a number and one of s, m, h, d.',
}
const wrong = (message: string): AgentError => new AgentError('VT_SCHED_BAD_EXPRESSION', message, how)

/** The interval nearest to the one that is said which divides its unit, in seconds; of two the longer. Seconds are rounded up to a minute. */
export function roundedInterval(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  if (unit === undefined || Number(count) === 0) return undefined
  const seconds = Math.ceil((Number(count) * units[unit]!) / minute) * minute
  return intervals.reduce((best, one) => (Math.abs(one - seconds) <= Math.abs(best - seconds) ? one : best))
}

/** An interval as it is said: `6m`, `2h`, `1d`. */
export function saidInterval(seconds: number): string {
  const unit = seconds % day === 0 ? 'd' : seconds % hour === 0 ? 'h' : 'm'
  return `${seconds / units[unit]!}${unit}`
}

/** When a task begins, as it is said. */
export const saidWhen = ({ every_secs, cron }: SessionTask): string =>
  cron ? `by ${cron.expression} (${cron.tz})` : every_secs === undefined ? 'once' : `every ${saidInterval(every_secs)}`

/** What `/loop` says: `[interval] <prompt>` or `<prompt> every <interval>`; 10 minutes where no interval is said. Throws VT_SCHED_BAD_EXPRESSION. */
export function readLoop(text: string): { prompt: string; every_secs: number } {
  const [, first, behind] = /^(\d+[smhd])\s+([^]+)$/.exec(text) ?? []
  const [, before, last] = /^([^]+?)\s+every\s+(\d+\s*[smhd])$/.exec(text) ?? []
  const [prompt, said] =
    first !== undefined ? [behind!, first] : last !== undefined ? [before!, last.replace(/\s/g, '')] : [text, usual]
  const every_secs = roundedInterval(said)
  if (prompt.trim() === '' || /^\d+[smhd]$/.test(prompt.trim())) throw wrong('What is to be done is not said.')
  if (every_secs === undefined) throw wrong(`'${said}' is no interval.`)
  return { prompt: prompt.trim(), every_secs }
}

/** What `/remind` says: `<HH:MM | +45m | RFC 3339> <text>`. Throws VT_SCHED_BAD_EXPRESSION. */
export async function readReminder(text: string, now: number): Promise<{ prompt: string; at: number }> {
  const [, time = '', said = ''] = /^(\S+)\s+([^]+)$/.exec(text.trim()) ?? []
  if (said.trim() === '') throw wrong('A time and what to be reminded of are needed.')
  const { onceTiming, secondsOf, zoneOf } = await import('../../lib/schedule/index.js')
  const after = time.startsWith('+') ? secondsOf(time.slice(1)) : undefined
  if (after !== undefined && after > 0) return { prompt: said.trim(), at: now + after * 1000 }
  try {
    const timing = onceTiming(time, zoneOf(), now)
    return { prompt: said.trim(), at: Date.parse((timing as { at: string }).at) }
  } catch {
    throw wrong(`'${time}' is no time that comes.`)
  }
}

/** What a model asks for, and when that is next. Throws VT_SCHED_BAD_EXPRESSION. */
export async function readAsked(
  { prompt, expression, every, run_at }: AskedTask,
  now: number,
): Promise<Omit<SessionTask, 'id' | 'ends' | 'next'> & { at: number }> {
  const hint = {
    hint: "every: '10m', expression: '0 9 * * 1-5' (minute, hour, day of month, month, weekday), or run_at: '18:30' or RFC 3339.",
  }
  const refuse = (message: string): AgentError => new AgentError('VT_SCHED_BAD_EXPRESSION', message, hint)
  if ([expression, every, run_at].filter((one) => one !== undefined).length !== 1)
    throw refuse('One of expression, every, run_at says when.')
  if (every !== undefined) {
    const every_secs = roundedInterval(every)
    if (every_secs === undefined) throw refuse(`every: '${every}' is no interval.`)
    return { prompt, every_secs, at: now + every_secs * 1000 }
  }
  const { cronTiming, nextBase, onceTiming, zoneOf } = await import('../../lib/schedule/index.js')
  try {
    const tz = zoneOf()
    const timing = expression === undefined ? onceTiming(run_at!, tz, now) : cronTiming(expression, tz, now)
    return {
      prompt,
      ...(timing.type === 'cron5' && { cron: { expression: timing.expression, tz } }),
      at: nextBase(timing, now)!,
    }
  } catch (error) {
    throw refuse((error as Error).message.replace(/^--at/, 'run_at'))
  }
}

/** The time after one that was met; `undefined` for what happens once. What was missed meanwhile counts as once. */
export async function nextOf({ every_secs, cron, next, ends }: SessionTask, now: number): Promise<string | undefined> {
  const at = cron
    ? (await import('../../lib/schedule/index.js')).nextBase({ type: 'cron5', ...cron }, now)
    : every_secs === undefined
      ? undefined
      : afterwards(Date.parse(next), every_secs * 1000, now)
  return at === undefined || (ends !== undefined && at > Date.parse(ends)) ? undefined : new Date(at).toISOString()
}

/** From the time that was met, so that nothing drifts. */
const afterwards = (met: number, period: number, now: number): number =>
  met + Math.max(1, Math.floor((now - met) / period) + 1) * period
