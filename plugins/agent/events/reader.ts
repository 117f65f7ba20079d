import type { Delta, DeltaSink, ThreadEvent } from '../base/index.js'

/** The maximum size of waiting deltas in bytes: two for each UTF-16 unit, plus an overhead for each delta. */
const MAX_BACKLOG_BYTES = 256 * 1024
const DELTA_OVERHEAD_BYTES = 64

/** Deltas that were joined while waiting. */
interface JoinedDelta {
  delta: Delta
  bytes: number
}

/**
 * The queue of one slow reader, which never delays the run. Deltas of one text are joined, and dropped beyond
 * `MAX_BACKLOG_BYTES`; `at`
 * of the next delta shows the gap. An update of an item is dropped if a later event contains it.
 */
export class Backlog {
  private readonly waiting = new Set<ThreadEvent | JoinedDelta>()
  private readonly joined = new Map<string, JoinedDelta>()
  private readonly updates = new Map<string, ThreadEvent>()
  private bytes = 0

  delta(delta: Delta): void {
    const bytes = delta.text.length * 2 + DELTA_OVERHEAD_BYTES
    if (this.bytes + bytes > MAX_BACKLOG_BYTES) return
    const key = `${delta.item_id} ${delta.kind}`
    const known = this.joined.get(key)
    this.bytes += bytes
    if (known && known.delta.at + known.delta.text.length === delta.at) {
      known.delta = { ...known.delta, text: known.delta.text + delta.text }
      known.bytes += bytes
      return
    }
    const one = { delta, bytes }
    this.joined.set(key, one)
    this.waiting.add(one)
  }

  event(event: ThreadEvent): void {
    if (event.type === 'item.updated' || event.type === 'item.completed') {
      const { id } = event.item
      const earlier = this.updates.get(id)
      if (earlier) this.waiting.delete(earlier)
      if (event.type === 'item.updated') this.updates.set(id, event)
      else this.updates.delete(id)
    }
    this.waiting.add(event)
  }

  /** Removes and returns the oldest entry. */
  take(): ThreadEvent | Delta | undefined {
    const [first] = this.waiting
    if (!first) return undefined
    this.waiting.delete(first)
    if (!('bytes' in first)) {
      if (first.type === 'item.updated' && this.updates.get(first.item.id) === first) this.updates.delete(first.item.id)
      return first
    }
    const key = `${first.delta.item_id} ${first.delta.kind}`
    if (this.joined.get(key) === first) this.joined.delete(key)
    this.bytes -= first.bytes
    return first.delta
  }
}

/**
 * Creates a sink that passes deltas one by one to a slow function. Contract: a function that throws gets no more
 * deltas.
 */
export function createPacedSink(follow: (delta: Delta) => void | Promise<void>): DeltaSink {
  const backlog = new Backlog()
  let state: 'idle' | 'busy' | 'gone' = 'idle'
  const work = async (): Promise<void> => {
    state = 'busy'
    try {
      for (let next = backlog.take(); next; next = backlog.take()) {
        const done = follow(next as Delta)
        if (done) await done
      }
      state = 'idle'
    } catch {
      state = 'gone'
    }
  }
  return (delta) => {
    if (state === 'gone') return
    backlog.delta(delta)
    if (state === 'idle') void work()
  }
}

/** Iterates events and deltas in order, at the pace of the reader. */
export class RunReader implements AsyncIterable<ThreadEvent | Delta> {
  private readonly backlog = new Backlog()
  private wake: (() => void) | undefined
  private isClosed = false

  readonly event = (event: ThreadEvent): void => {
    this.backlog.event(event)
    this.wake?.()
  }
  readonly delta = (delta: Delta): void => {
    this.backlog.delta(delta)
    this.wake?.()
  }
  /** Ends the iteration after the waiting entries. */
  end(): void {
    this.isClosed = true
    this.wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ThreadEvent | Delta, void, void> {
    for (;;) {
      const next = this.backlog.take()
      if (next) yield next
      else if (this.isClosed) return
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}
