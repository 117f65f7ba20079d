import type { Item, ThreadEvent, Usage } from '../base/index.js'
import { add, noUsage } from '../model/index.js'

/** What a log of events says at its end: a run that was killed still owes the ends of what it began. */
export interface Owed {
  thread_id: string | undefined
  seq: number
  /** Bytes of the whole lines. */
  bytes: number
  torn: boolean
  /** Items without an end, in the order they began. */
  items: Item[]
  turn_id: string | undefined
  /** A run that did not end. */
  running: boolean
  turn_usage: Usage
  usage: Usage
  turns: number
  steps: number
}

export function readLog(text: string): Owed {
  const owed: Owed = { thread_id: undefined, seq: 0, bytes: 0, torn: false, items: [], turn_id: undefined, running: false, turn_usage: noUsage, usage: noUsage, turns: 0, steps: 0 }
  const open = new Map<string, Item>()
  for (const line of text.split('\n')) {
    const event = parsed(line)
    if (!event) {
      // The text ends with a line break, or with a line that was not finished.
      owed.torn = line !== ''
      break
    }
    owed.bytes += Buffer.byteLength(line) + 1
    note(owed, open, event)
  }
  owed.items = [...open.values()]
  return owed
}

function note(owed: Owed, open: Map<string, Item>, event: ThreadEvent): void {
  owed.seq = event.seq
  owed.thread_id = event.thread_id
  switch (event.type) {
    case 'thread.started':
      Object.assign(owed, { running: true, usage: noUsage, turns: 0, steps: 0 })
      return
    case 'thread.completed':
      owed.running = false
      return
    case 'turn.started':
      Object.assign(owed, { turn_id: event.turn_id, turn_usage: noUsage })
      return
    case 'turn.completed':
    case 'turn.failed':
      Object.assign(owed, { turn_id: undefined, usage: add(owed.usage, event.usage ?? noUsage), turns: owed.turns + 1 })
      return
    case 'step.completed':
      Object.assign(owed, { turn_usage: add(owed.turn_usage, event.usage), steps: event.step })
      return
    case 'item.started':
    case 'item.updated':
      open.set(event.item.id, event.item)
      return
    case 'item.completed':
      open.delete(event.item.id)
  }
}

function parsed(line: string): ThreadEvent | undefined {
  try {
    const { event } = JSON.parse(line) as { event?: ThreadEvent }
    return event
  } catch {
    return undefined
  }
}
