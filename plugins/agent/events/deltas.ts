import { GrowingText } from '../../../core/text/index.js'
import { startAlarm, type Alarm, type Delta, type DeltaSink } from '../base/index.js'

/** The maximum delay of a delta; below the documented limit, to leave time for delivery. */
const PACE = { ms: 30, units: 4096 }

/** The growing texts of items. Deltas are not stored and have no number; the completed item has the final text. */
export class Deltas {
  private readonly sinks = new Set<DeltaSink>()
  private readonly waiting = new Set<DeltaStream>()
  private timer: Alarm | undefined

  /** `frame`: the ids of thread and turn; `queue` runs a delivery after all earlier events. */
  constructor(
    private readonly frame: () => Pick<Delta, 'thread_id' | 'turn_id'>,
    private readonly queue: (deliver: () => void) => void,
  ) {}

  add(sink: DeltaSink): () => void {
    this.sinks.add(sink)
    return () => this.sinks.delete(sink)
  }

  /** At least one sink is registered. */
  get hasSinks(): boolean {
    return this.sinks.size > 0
  }

  /** Opens the stream of one text of an item. */
  open(about: Pick<Delta, 'item_id' | 'kind' | 'tool_name'>): DeltaStream {
    return new DeltaStream(this, about)
  }

  /** Sends the new text soon, or now if it is long. */
  schedule(growth: DeltaStream): void {
    if (growth.unsentLength >= PACE.units) return growth.flush()
    this.waiting.add(growth)
    this.timer ??= startAlarm(PACE.ms, () => {
      this.timer = undefined
      for (const one of this.waiting) one.flush()
      this.waiting.clear()
    })
  }

  /** Sends a long text in pieces, so that the backlog of a fast reader drops nothing. */
  send({ at, text, ...about }: Pick<Delta, 'item_id' | 'kind' | 'tool_name' | 'at' | 'text'>): void {
    for (let from = 0, to: number; from < text.length; from = to) {
      to = from + PACE.units
      if (/[\ud800-\udbff]/.test(text[to - 1] ?? '')) to += 1
      const delta: Delta = { type: 'item.delta', ...this.frame(), ...about, at: at + from, text: text.slice(from, to) }
      this.queue(() => {
        for (const sink of this.sinks) sink(delta)
      })
    }
  }
}

/** One growing text with secrets redacted. A possible secret is held until it is decided. */
export class DeltaStream {
  /** The length of the text since the last delta. */
  unsentLength = 0
  private readonly source: GrowingText
  private redacted = ''
  private unsent = ''

  constructor(
    private readonly deltas: Deltas,
    private readonly about: Pick<Delta, 'item_id' | 'kind' | 'tool_name'>,
  ) {
    this.source = new GrowingText(about.kind === 'arguments')
  }

  /** Adds text that is sent with the next delta. */
  buffer(text: string): void {
    this.source.add(text)
    this.unsentLength += text.length
  }

  add(text: string): void {
    this.buffer(text)
    if (this.deltas.hasSinks) this.deltas.schedule(this)
  }

  /** Returns the redacted text so far; `whole`: including held text. */
  text(whole = false): string {
    const more = this.source.take(whole)
    this.redacted += more
    if (this.deltas.hasSinks) this.unsent += more
    return this.redacted
  }

  flush(whole = false): void {
    const { length } = this.text(whole)
    const { unsent: fresh } = this
    this.unsentLength = 0
    this.unsent = ''
    if (fresh !== '') this.deltas.send({ ...this.about, at: length - fresh.length, text: fresh })
  }

  /** Sends the rest; returns the whole text. */
  end(): string {
    this.flush(true)
    return this.redacted
  }
}
