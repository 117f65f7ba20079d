import { AgentError, verdictOf, type JournalRecord, type Store } from '../base/index.js'
import { add } from '../model/index.js'
import type { Conversation } from './conversation.js'
import { readJournal } from './journal.js'
import { replay, type State } from './state.js'
import { readLog, type Owed } from './unfinished.js'

/** What a session was when its last process ended, however it ended. */
export interface Restored {
  state: State
  records: readonly JournalRecord[]
  owed: Owed
  /** The journal ended in the middle of a line, which is gone. */
  torn: boolean
}

/** Reads a session back; lines that were not finished are cut off. Throws VT_SESSION_CORRUPT for a journal that is damaged elsewhere. */
export async function restore(store: Store, id: string): Promise<Restored> {
  const journal = readJournal((await store.read('messages.jsonl')) ?? '')
  if (journal.damaged !== undefined) throw new AgentError('VT_SESSION_CORRUPT', `Line ${journal.damaged} of the journal of session ${id} is damaged.`)
  if (journal.torn) await store.cut('messages.jsonl', journal.bytes)
  const state = replay(journal.records)
  const owed = readLog((await store.read('events.jsonl')) ?? '')
  if (owed.torn) await store.cut('events.jsonl', owed.bytes)
  return { state, records: journal.records, owed, torn: journal.torn }
}

/** Tells the ends that a killed run owes, so that every log is whole. */
export async function payOwed({ events, session_id }: Pick<Conversation, 'events' | 'session_id'>, { running, items, turn_id, turn_usage, usage, turns, steps }: Owed): Promise<void> {
  if (!running) return
  events.turn_id = turn_id
  for (const item of [...items].reverse()) await events.complete({ ...item, ...('status' in item && { status: 'cancelled' as const }) } as typeof item)
  if (turn_id !== undefined) await events.emit({ type: 'turn.failed', message: 'The program was killed in the middle of this turn.', code: 'VT_SESSION_INTERRUPTED', usage: turn_usage })
  events.turn_id = undefined
  const all = turn_id === undefined ? usage : add(usage, turn_usage)
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
