import { startAlarm } from '../base/index.js'
import { Stalled } from '../wire/index.js'

/** Reports activity; from then on silence of `ms` ends the work. */
export type Alive = (stage: 'first_token' | 'idle', ms: number) => void

/** Milliseconds until the first sign of life and for the whole request; errors name `reported_ms` as the whole. */
export interface RequestTimeouts {
  first_ms: number
  total_ms: number
  reported_ms: number
}

/**
 * Runs work that has to report activity. Silence for the last requested time, or the end of the total time, aborts
 * its signal and rejects with Stalled. Uses real time, not the agent's clock: the limits concern the network.
 */
export async function withTimeouts<T>(
  outer: AbortSignal,
  { first_ms, total_ms, reported_ms }: RequestTimeouts,
  work: (signal: AbortSignal, alive: Alive) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const signal = AbortSignal.any([outer, stop.signal])
  let stage: 'first_token' | 'idle' = 'first_token'
  let limit = first_ms
  const fire = () => stop.abort(new Stalled(stage, limit))
  let timer = startAlarm(limit, fire)
  const whole = startAlarm(total_ms, () => stop.abort(new Stalled('total', reported_ms)))
  const alive: Alive = (next, ms) => {
    if (next === stage && ms === limit) return timer.restart()
    timer.stop()
    stage = next
    limit = ms
    timer = startAlarm(limit, fire)
  }
  let abort: (() => void) | undefined
  const ended = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  const result = work(signal, alive)
  // After a limit the late result of the work is dropped.
  result.catch(() => {})
  try {
    return await Promise.race([result, ended])
  } catch (error) {
    throw stop.signal.aborted ? (stop.signal.reason as Error) : error
  } finally {
    timer.stop()
    whole.stop()
    signal.removeEventListener('abort', abort!)
  }
}
