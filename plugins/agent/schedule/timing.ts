import { AgentError, type TaskRequest, type SessionTask } from '../base/index.js'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** Intervals that divide their unit: minutes of an hour, hours of a day, whole days. */
const intervals = [
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((count) => count * minute),
  ...[1, 2, 3, 4, 6, 8, 12].map((count) => count * hour),
  ...Array.from({ length: 30 }, (_, days) => (days + 1) * day),
]
const usual = '10m'
const units: Record<string, number> = { s: 1, m: minute, h: hour, d: day }

const how = {
  hint:
    '/loop 10m <prompt>, /loop <prompt> every 2h, /remind 18:30 <text>, /remind +45m <text>; an ' +
    'interval is a number and one of s, m, h, d.',
}
const createError = (message: string): AgentError => new AgentError('VT_SCHED_BAD_EXPRESSION', message, how)

/**
 * Returns the nearest interval that divides its unit, in seconds; the longer of two. Seconds are rounded up to a
 * minute.
 */
export function roundInterval(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
  if (unit === undefined || Number(count) === 0) return undefined
  const seconds = Math.ceil((Number(count) * units[unit]!) / minute) * minute
  return intervals.reduce((best, one) => (Math.abs(one - seconds) <= Math.abs(best - seconds) ? one : best))
}

/** Formats an interval: `6m`, `2h`, `1d`. */
export function formatInterval(seconds: number): string {
  const unit = seconds % day === 0 ? 'd' : seconds % hour === 0 ? 'h' : 'm'
  return `${seconds / units[unit]!}${unit}`
}

/** Formats the schedule of a task. */
export const formatTiming = ({ every_secs, cron }: SessionTask): string =>
  cron
    ? `by ${cron.expression} (${cron.tz})`
    : every_secs === undefined
      ? 'once'
      : `every ${formatInterval(every_secs)}`

/**
 * Parses the text of `/loop`: `[interval] <prompt>` or `<prompt> every <interval>`; default 10 minutes. Throws
 * VT_SCHED_BAD_EXPRESSION.
 */
export function parseLoop(text: string): { prompt: string; every_secs: number } {
  const [, first, rest] = /^(\d+[smhd])\s+([^]+)$/.exec(text) ?? []
  const [, before, last] = /^([^]+?)\s+every\s+(\d+\s*[smhd])$/.exec(text) ?? []
  const [prompt, interval] =
    first !== undefined ? [rest!, first] : last !== undefined ? [before!, last.replace(/\s/g, '')] : [text, usual]
  const every_secs = roundInterval(interval)
  if (prompt.trim() === '' || /^\d+[smhd]$/.test(prompt.trim())) throw createError('The prompt is missing.')
  if (every_secs === undefined) throw createError(`Invalid interval '${interval}'.`)
  return { prompt: prompt.trim(), every_secs }
}

/** Parses the text of `/remind`: `<HH:MM | +45m | RFC 3339> <text>`. Throws VT_SCHED_BAD_EXPRESSION. */
export async function parseReminder(text: string, now: number): Promise<{ prompt: string; at: number }> {
  const [, time = '', reminder = ''] = /^(\S+)\s+([^]+)$/.exec(text.trim()) ?? []
  if (reminder.trim() === '') throw createError('A time and a text are required.')
  const { parseOnce, parseDuration, resolveTimeZone } = await import('../../lib/schedule/index.js')
  const after = time.startsWith('+') ? parseDuration(time.slice(1)) : undefined
  if (after !== undefined && after > 0) return { prompt: reminder.trim(), at: now + after * 1000 }
  try {
    const timing = parseOnce(time, resolveTimeZone(), now)
    return { prompt: reminder.trim(), at: Date.parse((timing as { at: string }).at) }
  } catch {
    throw createError(`Invalid time '${time}': give a future time.`)
  }
}

/** Parses the request of a model; returns its next time too. Throws VT_SCHED_BAD_EXPRESSION. */
export async function parseTaskRequest(
  { prompt, expression, every, run_at }: TaskRequest,
  now: number,
): Promise<Omit<SessionTask, 'id' | 'ends' | 'next'> & { at: number }> {
  const hint = {
    hint:
      "every: '10m', expression: '0 9 * * 1-5' (minute, hour, day of month, month, weekday), or " +
      "run_at: '18:30' or RFC 3339.",
  }
  const refuse = (message: string): AgentError => new AgentError('VT_SCHED_BAD_EXPRESSION', message, hint)
  if ([expression, every, run_at].filter((one) => one !== undefined).length !== 1)
    throw refuse('Give exactly one of expression, every, run_at.')
  if (every !== undefined) {
    const every_secs = roundInterval(every)
    if (every_secs === undefined) throw refuse(`Invalid interval '${every}'.`)
    return { prompt, every_secs, at: now + every_secs * 1000 }
  }
  const { parseCron, findNextBase, parseOnce, resolveTimeZone } = await import('../../lib/schedule/index.js')
  try {
    const tz = resolveTimeZone()
    const timing = expression === undefined ? parseOnce(run_at!, tz, now) : parseCron(expression, tz, now)
    return {
      prompt,
      ...(timing.type === 'cron5' && { cron: { expression: timing.expression, tz } }),
      at: findNextBase(timing, now)!,
    }
  } catch (error) {
    throw refuse((error as Error).message.replace('--at ', 'run_at '))
  }
}

/** Returns the next time after a due one; `undefined` for a single task. Missed times count once. */
export async function findNextTime(
  { every_secs, cron, next, ends }: SessionTask,
  now: number,
): Promise<string | undefined> {
  const at = cron
    ? (await import('../../lib/schedule/index.js')).findNextBase({ type: 'cron5', ...cron }, now)
    : every_secs === undefined
      ? undefined
      : addPeriods(Date.parse(next), every_secs * 1000, now)
  return at === undefined || (ends !== undefined && at > Date.parse(ends)) ? undefined : new Date(at).toISOString()
}

/** Counts from the due time, so that nothing drifts. */
const addPeriods = (met: number, period: number, now: number): number =>
  met + Math.max(1, Math.floor((now - met) / period) + 1) * period
