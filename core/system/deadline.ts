/** A limit on the time of some work. Disposing of it releases its timer and its listener. */
export interface Deadline extends Disposable {
  /** Aborts when the time is over or the outer signal aborts. */
  readonly signal: AbortSignal
  /** The time was over before the outer signal aborted. */
  readonly expired: boolean
}

// What Node's timers can wait at most; beyond it they fire at once.
const longest_ms = 2 ** 31 - 1

/**
 * A signal that aborts after `ms` milliseconds or with `outer`. A timer of our own holds the signal and keeps the process alive until it is disposed of:
 * the signal of Node's own timeout may be collected as garbage before it fires when it is combined with another, and then the work never ends.
 */
export function deadline(ms: number, outer?: AbortSignal): Deadline {
  const stop = new AbortController()
  let expired = false
  const timer = setTimeout(
    () => {
      expired = !stop.signal.aborted
      stop.abort(new DOMException('The time is over.', 'TimeoutError'))
      release()
    },
    Math.min(ms, longest_ms),
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
