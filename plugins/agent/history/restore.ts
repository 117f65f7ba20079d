import {
  outcomeTable,
  type JournalRecord,
  type Store,
  type ThreadEvent,
  type ThreadItem,
  type Usage,
} from '../base/index.js'
import { addUsage, noUsage } from '../model/index.js'
import {
  type Conversation,
  createDamageError,
  readJournal,
  readOwnJournal,
  resealRecords,
  adoptQueue,
  type StateTable,
} from '../session/index.js'

/** The state of a session when its last process ended, in any way. */
export interface Restored<S> {
  state: S
  records: readonly JournalRecord[]
  unfinished: Unfinished
  /** The journal ended with an incomplete line, which was cut off. */
  torn: boolean
}

/** The state at the end of an event log: a killed run leaves items, a turn and itself without an end. */
export interface Unfinished {
  thread_id: string | undefined
  seq: number
  /** Bytes of the complete lines. */
  bytes: number
  torn: boolean
  /** Items without an end, in the order in which they began. */
  items: ThreadItem[]
  turn_id: string | undefined
  /** The last run did not end. */
  running: boolean
  turn_usage: Usage
  usage: Usage
  turns: number
  steps: number
}

/**
 * Reads a session and cuts off incomplete last lines. Throws VT_SESSION_CORRUPT for other damage to the journal,
 * VT_SESSION_FOREIGN for a line of another user.
 */
export async function restore<S extends object>(store: Store, id: string, table: StateTable<S>): Promise<Restored<S>> {
  const journal = readOwnJournal((await store.read('messages.jsonl')) ?? '', id, store.mark)
  if (journal.torn) await store.cut('messages.jsonl', journal.bytes)
  const state = table.replay(journal.records)
  const unfinished = readEventLog((await store.read('events.jsonl')) ?? '')
  if (unfinished.torn) await store.cut('events.jsonl', unfinished.bytes)
  return { state, records: journal.records, unfinished, torn: journal.torn }
}

/** Emits the missing end events of a killed run, so that every log is complete. */
export async function closeUnfinished(
  { events, session_id }: Pick<Conversation, 'events' | 'session_id'>,
  { running, items, turn_id, turn_usage, usage, turns, steps }: Unfinished,
): Promise<void> {
  if (!running) return
  events.turn_id = turn_id
  for (const item of [...items].reverse())
    await events.complete({ ...item, ...('status' in item && { status: 'cancelled' as const }) } as typeof item)
  if (turn_id !== undefined)
    await events.emit({
      type: 'turn.failed',
      message: 'The program was killed in the middle of this turn.',
      code: 'VT_SESSION_INTERRUPTED',
      usage: turn_usage,
    })
  events.turn_id = undefined
  const all = turn_id === undefined ? usage : addUsage(usage, turn_usage)
  await events.emit({
    type: 'thread.completed',
    session_id,
    subtype: outcomeTable.unknown.subtype,
    outcome_code: 'unknown',
    usage: all,
    total_cost_usd: null,
    num_turns: turns + (turn_id === undefined ? 0 : 1),
    num_steps: steps,
    verified: null,
  })
}

/**
 * Cuts a journal at its first damaged line and keeps the rest in `messages.bad.jsonl`. Returns the number of lines cut.
 */
export async function repair(store: Store): Promise<number> {
  const text = (await store.read('messages.jsonl')) ?? ''
  const { bytes } = readJournal(text)
  const rest = Buffer.from(text).subarray(bytes).toString()
  if (rest === '') return 0
  await store.write('messages.bad.jsonl', rest)
  await store.cut('messages.jsonl', bytes)
  return rest.split('\n').filter(Boolean).length
}

/** Seals the journal and queue of another user with the mark of this user. Throws VT_SESSION_CORRUPT. */
export async function adoptSession(store: Store, id: string): Promise<void> {
  const { records, damaged } = readJournal((await store.read('messages.jsonl')) ?? '')
  if (damaged !== undefined) throw createDamageError(damaged, id)
  await store.write('messages.jsonl', resealRecords(records.map(dropMode), store.mark))
  await adoptQueue(store)
}

/** Replaces a mode by a note: adopting a conversation grants no rights that its author chose. */
function dropMode(record: JournalRecord): JournalRecord {
  if (record.kind !== 'mode') return record
  const { n, ts, turn, crc, mode } = record
  return { n, ts, turn, crc, kind: 'note', text: `Mode ${mode} was not taken over.` }
}

function readEventLog(text: string): Unfinished {
  const unfinished: Unfinished = {
    thread_id: undefined,
    seq: 0,
    bytes: 0,
    torn: false,
    items: [],
    turn_id: undefined,
    running: false,
    turn_usage: noUsage,
    usage: noUsage,
    turns: 0,
    steps: 0,
  }
  const open = new Map<string, ThreadItem>()
  const lines = text.split('\n')
  // A last line without its line break is torn even if its JSON is complete: the next event would join it.
  unfinished.torn = lines.pop() !== ''
  for (const line of lines) {
    const event = parseEvent(line)
    if (!event) {
      unfinished.torn ||= line !== ''
      break
    }
    unfinished.bytes += Buffer.byteLength(line) + 1
    applyEvent(unfinished, open, event)
  }
  unfinished.items = [...open.values()]
  return unfinished
}

type Note<Event> = (unfinished: Unfinished, event: Event, open: Map<string, ThreadItem>) => void
const reducers: { readonly [T in ThreadEvent['type']]?: Note<ThreadEvent & { type: T }> } = {
  'thread.started': (unfinished) => Object.assign(unfinished, { running: true, usage: noUsage, turns: 0, steps: 0 }),
  'thread.completed': (unfinished) => Object.assign(unfinished, { running: false }),
  'turn.started': (unfinished, { turn_id }) => Object.assign(unfinished, { turn_id, turn_usage: noUsage }),
  'turn.completed': (unfinished, { usage }) => endTurn(unfinished, usage),
  'turn.failed': (unfinished, { usage }) => endTurn(unfinished, usage),
  'step.completed': (unfinished, { usage, step }) =>
    Object.assign(unfinished, { turn_usage: addUsage(unfinished.turn_usage, usage), steps: step }),
  'item.started': (_, { item }, open) => open.set(item.id, item),
  'item.updated': (_, { item }, open) => open.set(item.id, item),
  'item.completed': (_, { item }, open) => open.delete(item.id),
}
const endTurn = (unfinished: Unfinished, usage = noUsage): unknown =>
  Object.assign(unfinished, {
    turn_id: undefined,
    usage: addUsage(unfinished.usage, usage),
    turns: unfinished.turns + 1,
  })

function applyEvent(unfinished: Unfinished, open: Map<string, ThreadItem>, event: ThreadEvent): void {
  unfinished.seq = event.seq
  unfinished.thread_id = event.thread_id
  ;(reducers[event.type] as Note<ThreadEvent> | undefined)?.(unfinished, event, open)
}

function parseEvent(line: string): ThreadEvent | undefined {
  try {
    const { event } = JSON.parse(line) as { event?: ThreadEvent }
    return event
  } catch {
    return undefined
  }
}
