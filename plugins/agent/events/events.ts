import { redact } from '../../../core/text/index.js'
import type { Clock, EventBody, EventSink, ItemStatus, ThreadEvent, ThreadItem } from '../base/index.js'
import { Deltas } from './deltas.js'

/**
 * The events of one thread: numbered without a gap, with secrets redacted. Each sink gets an event before the
 * next event.
 */
export class Events {
  private readonly sinks = new Set<EventSink>()
  private readonly open = new Map<string, ThreadItem>()
  private tail: Promise<void> = Promise.resolve()
  /** Set during a turn. */
  turn_id: string | undefined
  /** The deltas between events: each delta is delivered after all earlier events. */
  readonly deltas = new Deltas(
    () => ({ thread_id: this.thread_id, ...(this.turn_id && { turn_id: this.turn_id }) }),
    (deliver) => (this.tail = this.tail.then(deliver)),
  )

  constructor(
    private readonly thread_id: string,
    private readonly clock: Clock,
    private seq = 0,
  ) {}

  get count(): number {
    return this.seq
  }

  add(sink: EventSink): () => void {
    this.sinks.add(sink)
    return () => this.sinks.delete(sink)
  }

  /** Resolves when every sink has the event, so that the slowest reader sets the pace. */
  emit(body: EventBody): Promise<void> {
    const event = redact({
      ...body,
      seq: ++this.seq,
      ts: new Date(this.clock.now()).toISOString(),
      thread_id: this.thread_id,
      ...(this.turn_id && { turn_id: this.turn_id }),
    })
    const delivered = this.tail.then(() => this.deliver(event))
    this.tail = delivered.catch(() => {})
    return delivered
  }

  private async deliver(event: ThreadEvent): Promise<void> {
    const failures: unknown[] = []
    for (const sink of [...this.sinks]) {
      try {
        await sink(event)
      } catch (error) {
        this.sinks.delete(sink)
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  start(item: ThreadItem): Promise<void> {
    this.open.set(item.id, item)
    return this.emit({ type: 'item.started', item })
  }
  update(item: ThreadItem): Promise<void> {
    this.open.set(item.id, item)
    return this.emit({ type: 'item.updated', item })
  }
  complete(item: ThreadItem): Promise<void> {
    this.open.delete(item.id)
    return this.emit({ type: 'item.completed', item })
  }
  /** Emits an item that is complete from the start. */
  async emitItem(item: ThreadItem): Promise<void> {
    await this.start(item)
    await this.complete(item)
  }
  /** Completes all open items except delegated parts, which outlive the turn. */
  async closeOpen(status: ItemStatus): Promise<void> {
    for (const item of [...this.open.values()].reverse())
      if (item.type !== 'subagent') await this.complete({ ...item, status } as ThreadItem)
  }
}
