import { GrowingText } from '../../../core/text/index.js'
import { alarm, type Alarm, type Delta, type DeltaSink } from '../base/index.js'

/** How far a delta may be behind what it tells of: less than is promised, the rest is for the way to the reader. */
const pace = { ms: 30, units: 4096 }

/** What items say while they say it, for whoever listens: written nowhere, numbered by nobody. The item that completes is the truth. */
export class Deltas {
  private readonly sinks = new Set<DeltaSink>()
  private readonly waiting = new Set<Growth>()
  private timer: Alarm | undefined

  /** `frame`: what a delta has of its thread; `queue` runs things behind all events before them. */
  constructor(
    private readonly frame: () => Pick<Delta, 'thread_id' | 'turn_id'>,
    private readonly queue: (deliver: () => void) => void,
  ) {}

  add(sink: DeltaSink): () => void {
    this.sinks.add(sink)
    return () => this.sinks.delete(sink)
  }

  /** Somebody listens. */
  get heard(): boolean {
    return this.sinks.size > 0
  }

  /** A text of an item that grows. */
  open(about: Pick<Delta, 'item_id' | 'kind' | 'tool_name'>): Growth {
    return new Growth(this, about)
  }

  /** Tells of it soon, or now where much came. */
  grew(growth: Growth): void {
    if (growth.untold >= pace.units) return growth.tell()
    this.waiting.add(growth)
    this.timer ??= alarm(pace.ms, () => {
      this.timer = undefined
      for (const one of this.waiting) one.tell()
      this.waiting.clear()
    })
  }

  /** Much comes in pieces, each behind the other, so that a reader who keeps up misses nothing of it. */
  send({ at, text, ...about }: Pick<Delta, 'item_id' | 'kind' | 'tool_name' | 'at' | 'text'>): void {
    for (let from = 0, to: number; from < text.length; from = to) {
      to = from + pace.units
      if (/[\ud800-\udbff]/.test(text[to - 1] ?? '')) to += 1
      const delta: Delta = { type: 'item.delta', ...this.frame(), ...about, at: at + from, text: text.slice(from, to) }
      this.queue(() => {
        for (const sink of this.sinks) sink(delta)
      })
    }
  }
}

/** One text while it grows, without its secrets: of what may become one nothing is told before it is known. */
export class Growth {
  /** How much came since the last time something was told. */
  untold = 0
  private readonly source: GrowingText
  private clean = ''
  private fresh = ''

  constructor(
    private readonly deltas: Deltas,
    private readonly about: Pick<Delta, 'item_id' | 'kind' | 'tool_name'>,
  ) {
    this.source = new GrowingText(about.kind === 'arguments')
  }

  /** To be told with what comes next. */
  put(text: string): void {
    this.source.add(text)
    this.untold += text.length
  }

  add(text: string): void {
    this.put(text)
    if (this.deltas.heard) this.deltas.grew(this)
  }

  /** All that can be told so far; with `whole` all of it. */
  text(whole = false): string {
    const more = this.source.take(whole)
    this.clean += more
    if (this.deltas.heard) this.fresh += more
    return this.clean
  }

  tell(whole = false): void {
    const { length } = this.text(whole)
    const { fresh } = this
    this.untold = 0
    this.fresh = ''
    if (fresh !== '') this.deltas.send({ ...this.about, at: length - fresh.length, text: fresh })
  }

  /** Tells the rest; returns the whole. */
  end(): string {
    this.tell(true)
    return this.clean
  }
}
