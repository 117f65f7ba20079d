import { alarm } from '../base/index.js'
import { Stalled } from './failure.js'

/** Says that something came; from then on silence of `ms` ends the work. */
export type Alive = (stage: 'first_token' | 'idle', ms: number) => void

/** Milliseconds that a request may take: until its first sign of life, and in all; an error names `told_ms` as the whole. */
export interface RequestTimeouts {
  first_ms: number
  total_ms: number
  told_ms: number
}

/**
 * Runs work that has to show signs of life: without one for the time that was last asked for, or when its whole time is over, its signal
 * aborts and the whole rejects with Stalled. Real time, whatever clock the agent runs on: this is about the wire.
 */
export async function withTimeouts<T>(
  outer: AbortSignal,
  { first_ms, total_ms, told_ms }: RequestTimeouts,
  work: (signal: AbortSignal, alive: Alive) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const signal = AbortSignal.any([outer, stop.signal])
  let stage: 'first_token' | 'idle' = 'first_token'
  let limit = first_ms
  const fire = () => stop.abort(new Stalled(stage, limit))
  let timer = alarm(limit, fire)
  const whole = alarm(total_ms, () => stop.abort(new Stalled('total', told_ms)))
  const alive: Alive = (next, ms) => {
    if (next === stage && ms === limit) return timer.again()
    timer.stop()
    stage = next
    limit = ms
    timer = alarm(limit, fire)
  }
  let abort: (() => void) | undefined
  const ended = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  const result = work(signal, alive)
  // When the limit wins, what the work says later interests nobody.
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
