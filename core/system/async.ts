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

/** Tells a value, at once where nothing has to be waited for: a promise costs more than most of what policies and compactors do. Contract: it does not reject, `tell` does not throw. */
export function whenKnown<T>(value: T | Promise<T>, tell: (value: T) => void): void {
  if (isPromise(value)) void value.then(tell)
  else tell(value)
}

/** What `done` makes of what some work comes to, at once where it is no promise; what `failed` makes of an error, or of no end after `ms` milliseconds. */
export function outcomeWithin<T, R>(
  work: () => T | Promise<T>,
  ms: number,
  done: (value: T) => R,
  failed: (error: unknown) => R,
): R | Promise<R> {
  try {
    const begun = work()
    return isPromise(begun)
      ? withTimeout(Promise.resolve(begun), ms, () => new Error('it does not answer'))
          .then(done)
          .catch(failed)
      : done(begun)
  } catch (error) {
    return failed(error)
  }
}

/** Lets at most `width` runs proceed at once; further runs wait their turn. */
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

/** Counts the runs in progress and tells when the last one has ended. */
export class InFlight {
  private inside = 0
  private tell: (() => void) | undefined

  enter(): void {
    this.inside++
  }
  leave(): void {
    if (--this.inside === 0) this.tell?.()
  }
  /** Whether no run is left after at most `ms` milliseconds. */
  over(ms: number): Promise<boolean> {
    if (this.inside === 0) return Promise.resolve(true)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms)
      this.tell = () => {
        clearTimeout(timer)
        resolve(true)
      }
      timer.unref()
    })
  }
}

/** An abort whose `AbortSignal` is made on first use only: most calls end without any reader of the signal. */
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
  /** Calls `run` on abort, at once where the abort came before; the returned function unsubscribes it. */
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
