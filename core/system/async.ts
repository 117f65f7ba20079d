import { setMaxListeners } from 'node:events'

/** Settles as `work` does, but rejects with `late()` after `ms` milliseconds. A later outcome of `work` is dropped. */
export function withTimeout<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    work.then(
      (value) => (clearTimeout(timer), resolve(value)),
      (error) => (clearTimeout(timer), reject(error as Error)),
    )
  })
}

export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function'

/**
 * Passes a value on, immediately unless it is a promise: a promise costs more than most policies and compactors.
 * Contract: the promise does not reject, and the receiver does not throw.
 */
export function passValue<T>(value: T | Promise<T>, receive: (value: T) => void): void {
  if (isPromise(value)) void value.then(receive)
  else receive(value)
}

/**
 * Returns `done` of the outcome of some work, immediately unless the outcome is a promise; `failed` of an error, or of
 * a timeout after `ms` milliseconds.
 */
export function runWithTimeout<T, R>(
  work: () => T | Promise<T>,
  ms: number,
  done: (value: T) => R,
  failed: (error: unknown) => R,
): R | Promise<R> {
  try {
    const begun = work()
    return isPromise(begun)
      ? withTimeout(Promise.resolve(begun), ms, () => new Error('it did not answer in time'))
          .then(done)
          .catch(failed)
      : done(begun)
  } catch (error) {
    return failed(error)
  }
}

/** Lets at most `width` runs proceed at once; further runs wait. */
export class Semaphore {
  private inside = 0
  private readonly waiting: (() => void)[] = []
  constructor(private readonly width: number) {}

  /** Returns nothing to await when a place is free. */
  enter(): Promise<void> | undefined {
    if (this.inside < this.width) return void this.inside++
    return new Promise((go) => this.waiting.push(go))
  }
  /** A place that becomes free goes to the next waiting run, so that the count never exceeds the width. */
  leave(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.inside--
  }
}

/** Counts the runs in progress and reports the end of the last one. */
export class InFlight {
  private inside = 0
  private onIdle: (() => void) | undefined

  enter(): void {
    this.inside++
  }
  leave(): void {
    if (--this.inside === 0) this.onIdle?.()
  }
  /** Returns whether all runs end within `ms` milliseconds. */
  waitForIdle(ms: number): Promise<boolean> {
    if (this.inside === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms)
      this.onIdle = () => {
        clearTimeout(timer)
        resolve(true)
      }
      timer.unref()
    })
  }
}

/** An abort whose `AbortSignal` is created on first use, because most calls end without a reader of the signal. */
export class LazyAbort {
  aborted = false
  private listeners: Set<() => void> | undefined
  private controller: AbortController | undefined

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController()
      // A call may wait for many things at once, such as a program for each language.
      setMaxListeners(0, this.controller.signal)
    }
    if (this.aborted) this.controller.abort()
    return this.controller.signal
  }
  /** Calls `run` on abort, immediately if the abort came before; the returned function unsubscribes it. */
  on(run: () => void): () => void {
    if (this.aborted) run()
    else (this.listeners ??= new Set()).add(run)
    return () => void this.listeners?.delete(run)
  }
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    this.controller?.abort()
    for (const run of this.listeners ?? []) run()
  }
}
