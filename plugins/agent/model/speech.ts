import type { ItemStatus, ThreadItem } from '../base/index.js'
import type { Events, DeltaStream } from '../events/index.js'
import type { Follower } from './stream.js'

// Characters between two updates, and the maximum of updates.
const pace = { text: { units: 1024, updates: 64 }, reasoning: { units: 256, updates: 2 } }

interface OpenItem {
  item: Omit<ThreadItem & { type: 'agent_message' | 'reasoning' }, 'text'>
  growth: DeltaStream
  /** Characters since the last event. */
  units: number
  updates: number
}

/**
 * The growing text of an answer as items: each opens with its first text and ends completed, discarded or cancelled.
 */
export class Speech implements Follower {
  /** The visible text of the last answer if that is incomplete. */
  unfinished = ''
  private readonly open = new Map<string, OpenItem>()
  private readonly calls = new Map<string, { item_id: string; growth: DeltaStream }>()

  constructor(
    private readonly events: Events,
    private readonly newId: () => string,
  ) {}

  appendText(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> | undefined {
    const known = this.open.get(id)
    if (!known) return this.begin(id, kind, text)
    known.growth.add(text)
    known.units += text.length
    const { units, updates } = pace[kind]
    if (known.units < units || known.updates >= updates) return undefined
    known.units = 0
    known.updates += 1
    return this.events.update({ ...known.item, text: known.growth.text() })
  }

  private begin(id: string, kind: 'text' | 'reasoning', text: string): Promise<void> {
    const item = {
      id: this.newId(),
      type: kind === 'text' ? ('agent_message' as const) : ('reasoning' as const),
      status: 'in_progress' as const,
    }
    const growth = this.events.deltas.open({ item_id: item.id, kind })
    this.open.set(id, { item, growth, units: 0, updates: 0 })
    growth.buffer(text)
    const started = this.events.start({ ...item, text: growth.text() })
    growth.add('')
    return started
  }

  /**
   * Appends to the arguments of a call, for readers of deltas only: the item begins when the call is in the journal.
   */
  appendArguments(id: string, tool_name: string, text: string): void {
    if (!this.events.deltas.hasSinks) return
    let known = this.calls.get(id)
    if (!known) {
      const item_id = this.newId()
      this.calls.set(
        id,
        (known = { item_id, growth: this.events.deltas.open({ item_id, kind: 'arguments', tool_name }) }),
      )
    }
    known.growth.add(text)
  }

  /** Returns the item id of a call whose arguments were shown. */
  findItemId(id: string): string | undefined {
    return this.calls.get(id)?.item_id
  }

  /** Ends every item; returns their ids. */
  async end(status: ItemStatus): Promise<string[]> {
    const items = [...this.open.values()].map(({ item, growth }) => ({ ...item, text: growth.end(), status }))
    for (const { growth } of this.calls.values()) growth.end()
    this.open.clear()
    this.calls.clear()
    if (status === 'completed') this.unfinished = ''
    else if (items.length > 0)
      this.unfinished = items.flatMap(({ type, text }) => (type === 'agent_message' ? [text] : [])).join('')
    for (const item of items) await this.events.complete(item)
    return items.map(({ id }) => id)
  }
}
