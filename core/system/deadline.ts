/** A limit on the time of some work. Disposing of it releases its timer and its listener. */
export interface Deadline extends Disposable {
  /** Aborts when the time ends or the outer signal aborts. */
  readonly signal: AbortSignal
  /** True if the time ended before the outer signal aborted. */
  readonly expired: boolean
}

// Longest delay of Node's timers; longer ones fire immediately.
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Creates a signal that aborts after `ms` milliseconds or with `outer`. Its own timer holds the signal and keeps the
 * process alive until it is disposed of. The signal of Node's timeout, combined with another, may be garbage-collected
 * before it fires; then the work never ends.
 */
export function startDeadline(ms: number, outer?: AbortSignal): Deadline {
  const stop = new AbortController()
  let expired = false
  const timer = setTimeout(
    () => {
      expired = !stop.signal.aborted
      stop.abort(new DOMException('The time is over.', 'TimeoutError'))
      release()
    },
    Math.min(ms, MAX_TIMER_MS),
  )
  const follow = (): void => {
    stop.abort(outer!.reason)
    release()
  }
  function release(): void {
    clearTimeout(timer)
    outer?.removeEventListener('abort', follow)
  }
  if (outer?.aborted) follow()
  else outer?.addEventListener('abort', follow, { once: true })
  return {
    signal: stop.signal,
    get expired() {
      return expired
    },
    [Symbol.dispose]: release,
  }
}
