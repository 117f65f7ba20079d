import type { ItemStatus, ThreadItem } from '../base/index.js'
import type { Events } from '../events/index.js'
import type { Follower } from './stream.js'

// How much has to be new before an update is worth an event, and how many there may be.
const pace = { text: { bytes: 1024, updates: 64 }, reasoning: { bytes: 256, updates: 2 } }

interface OpenItem {
  item: ThreadItem & { type: 'agent_message' | 'reasoning' }
  sent: number
  updates: number
}

/** The text of an answer while it grows, as items: each opens with its first text and ends completed, discarded or cancelled. */
export class Speech implements Follower {
  private readonly open = new Map<string, OpenItem>()

  constructor(
    private readonly events: Events,
    private readonly newId: () => string,
  ) {}

  async grew(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> {
    const known = this.open.get(id)
    if (!known) {
      const item = { id: this.newId(), type: kind === 'text' ? ('agent_message' as const) : ('reasoning' as const), text, status: 'in_progress' as const }
      this.open.set(id, { item, sent: text.length, updates: 0 })
      return this.events.start(item)
    }
    known.item = { ...known.item, text }
    const { bytes, updates } = pace[kind]
    if (text.length - known.sent < bytes || known.updates >= updates) return
    known.sent = text.length
    known.updates += 1
    return this.events.update(known.item)
  }

  /** Ends every item; returns their ids. */
  async end(status: ItemStatus): Promise<string[]> {
    const items = [...this.open.values()].map(({ item }) => ({ ...item, status }))
    this.open.clear()
    for (const item of items) await this.events.complete(item)
    return items.map(({ id }) => id)
  }
}
