import type { Delta, DeltaSink, ThreadEvent } from '../base/index.js'

/** Bytes of deltas that wait for a reader at most; a letter has two of them, and a piece costs some by itself. */
const most = 256 * 1024
const each = 64

/** Deltas that were joined while they waited. */
interface Joined {
  delta: Delta
  bytes: number
}

/**
 * What waits for one reader, who never holds up what it reads about: deltas of one text are joined, beyond `most` dropped, and the next
 * one says by `at` what is missing. Of events only those are left out that a later one of the same item contains.
 */
export class Backlog {
  private readonly waiting = new Set<ThreadEvent | Joined>()
  private readonly joined = new Map<string, Joined>()
  private readonly updates = new Map<string, ThreadEvent>()
  private bytes = 0

  delta(delta: Delta): void {
    const bytes = delta.text.length * 2 + each
    if (this.bytes + bytes > most) return
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

  /** What has waited longest. */
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

/** Follows deltas at its own pace: the next one when it is done with the last. Contract: one that throws gets no more. */
export function atItsPace(follow: (delta: Delta) => void | Promise<void>): DeltaSink {
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

/** Events and deltas in one order, for a reader that takes them when it likes. */
export class RunReader implements AsyncIterable<ThreadEvent | Delta> {
  private readonly backlog = new Backlog()
  private wake: (() => void) | undefined
  private over = false

  readonly event = (event: ThreadEvent): void => {
    this.backlog.event(event)
    this.wake?.()
  }
  readonly delta = (delta: Delta): void => {
    this.backlog.delta(delta)
    this.wake?.()
  }
  /** Nothing comes any more. */
  end(): void {
    this.over = true
    this.wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ThreadEvent | Delta, void, void> {
    for (;;) {
      const next = this.backlog.take()
      if (next) yield next
      else if (this.over) return
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}
