import type { Item, ItemStatus } from '../base/index.js'
import type { Events } from '../events/index.js'
import type { Follower } from './stream.js'

// How much has to be new before an update is worth an event, and how many there may be.
const pace = { text: { bytes: 1024, updates: 64 }, reasoning: { bytes: 256, updates: 2 } }

interface Said {
  item: Item & { type: 'agent_message' | 'reasoning' }
  told: number
  updates: number
}

/** What a model says while it says it: items that open with their first words and end whole, discarded or cancelled. */
export class Speech implements Follower {
  private readonly said = new Map<string, Said>()

  constructor(
    private readonly events: Events,
    private readonly newId: () => string,
  ) {}

  async grew(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> {
    const known = this.said.get(id)
    if (!known) {
      const item = { id: this.newId(), type: kind === 'text' ? ('agent_message' as const) : ('reasoning' as const), text, status: 'in_progress' as const }
      this.said.set(id, { item, told: text.length, updates: 0 })
      return this.events.start(item)
    }
    known.item = { ...known.item, text }
    const { bytes, updates } = pace[kind]
    if (text.length - known.told < bytes || known.updates >= updates) return
    known.told = text.length
    known.updates += 1
    return this.events.update(known.item)
  }

  /** Ends every item; returns their ids. */
  async end(status: ItemStatus): Promise<string[]> {
    const items = [...this.said.values()].map(({ item }) => ({ ...item, status }))
    this.said.clear()
    for (const item of items) await this.events.complete(item)
    return items.map(({ id }) => id)
  }
}
