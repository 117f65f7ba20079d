import { verdictOf, type JournalRecord, type Store, type ThreadEvent, type ThreadItem, type Usage } from '../base/index.js'
import { addUsage, noUsage } from '../model/index.js'
import type { Conversation } from './conversation.js'
import { damagedLine, readJournal, readOwnJournal, resealed } from './journal.js'
import { adoptQueue } from './queue.js'
import { replay, type ConversationState } from './state.js'

/** The state of a session when its last process ended, however it ended. */
export interface Restored {
  state: ConversationState
  records: readonly JournalRecord[]
  unfinished: Unfinished
  /** The journal ended in the middle of a line, which is gone. */
  torn: boolean
}

/** The state at the end of an event log: a killed run leaves items, a turn and itself without an end. */
export interface Unfinished {
  thread_id: string | undefined
  seq: number
  /** Bytes of the whole lines. */
  bytes: number
  torn: boolean
  /** Items without an end, in the order they began. */
  items: ThreadItem[]
  turn_id: string | undefined
  /** A run that did not end. */
  running: boolean
  turn_usage: Usage
  usage: Usage
  turns: number
  steps: number
}

/** Reads a session back; lines that were not finished are cut off. Throws VT_SESSION_CORRUPT for a journal that is damaged elsewhere, VT_SESSION_FOREIGN for one of somebody else. */
export async function restore(store: Store, id: string): Promise<Restored> {
  const journal = readOwnJournal((await store.read('messages.jsonl')) ?? '', id, store.mark)
  if (journal.torn) await store.cut('messages.jsonl', journal.bytes)
  const state = replay(journal.records)
  const unfinished = readLog((await store.read('events.jsonl')) ?? '')
  if (unfinished.torn) await store.cut('events.jsonl', unfinished.bytes)
  return { state, records: journal.records, unfinished, torn: journal.torn }
}

/** Emits the ends that a killed run did not, so that every log is complete. */
export async function closeUnfinished({ events, session_id }: Pick<Conversation, 'events' | 'session_id'>, { running, items, turn_id, turn_usage, usage, turns, steps }: Unfinished): Promise<void> {
  if (!running) return
  events.turn_id = turn_id
  for (const item of [...items].reverse()) await events.complete({ ...item, ...('status' in item && { status: 'cancelled' as const }) } as typeof item)
  if (turn_id !== undefined) await events.emit({ type: 'turn.failed', message: 'The program was killed in the middle of this turn.', code: 'VT_SESSION_INTERRUPTED', usage: turn_usage })
  events.turn_id = undefined
  const all = turn_id === undefined ? usage : addUsage(usage, turn_usage)
  await events.emit({
    type: 'thread.completed',
    session_id,
    subtype: verdictOf('unknown').subtype,
    outcome_code: 'unknown',
    usage: all,
    total_cost_usd: null,
    num_turns: turns + (turn_id === undefined ? 0 : 1),
    num_steps: steps,
    verified: null,
  })
}

/** Cuts a damaged journal where the damage begins; the rest is kept beside it. Returns how many lines were cut. */
export async function repair(store: Store): Promise<number> {
  const text = (await store.read('messages.jsonl')) ?? ''
  const { bytes } = readJournal(text)
  const rest = Buffer.from(text).subarray(bytes).toString()
  if (rest === '') return 0
  await store.write('messages.bad.jsonl', rest)
  await store.cut('messages.jsonl', bytes)
  return rest.split('\n').filter(Boolean).length
}

/** Puts what somebody else wrote under the mark of this user. Throws VT_SESSION_CORRUPT. */
export async function adoptSession(store: Store, id: string): Promise<void> {
  const { records, damaged } = readJournal((await store.read('messages.jsonl')) ?? '')
  if (damaged !== undefined) throw damagedLine(damaged, id)
  await store.write('messages.jsonl', resealed(records, store.mark))
  await adoptQueue(store)
}

function readLog(text: string): Unfinished {
  const unfinished: Unfinished = { thread_id: undefined, seq: 0, bytes: 0, torn: false, items: [], turn_id: undefined, running: false, turn_usage: noUsage, usage: noUsage, turns: 0, steps: 0 }
  const open = new Map<string, ThreadItem>()
  for (const line of text.split('\n')) {
    const event = parsed(line)
    if (!event) {
      // The text ends with a line break, or with a line that was not finished.
      unfinished.torn = line !== ''
      break
    }
    unfinished.bytes += Buffer.byteLength(line) + 1
    note(unfinished, open, event)
  }
  unfinished.items = [...open.values()]
  return unfinished
}

function note(unfinished: Unfinished, open: Map<string, ThreadItem>, event: ThreadEvent): void {
  unfinished.seq = event.seq
  unfinished.thread_id = event.thread_id
  switch (event.type) {
    case 'thread.started':
      Object.assign(unfinished, { running: true, usage: noUsage, turns: 0, steps: 0 })
      return
    case 'thread.completed':
      unfinished.running = false
      return
    case 'turn.started':
      Object.assign(unfinished, { turn_id: event.turn_id, turn_usage: noUsage })
      return
    case 'turn.completed':
    case 'turn.failed':
      Object.assign(unfinished, { turn_id: undefined, usage: addUsage(unfinished.usage, event.usage ?? noUsage), turns: unfinished.turns + 1 })
      return
    case 'step.completed':
      Object.assign(unfinished, { turn_usage: addUsage(unfinished.turn_usage, event.usage), steps: event.step })
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
