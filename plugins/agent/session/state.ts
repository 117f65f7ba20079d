import type { Mode } from '../../../core/base/index.js'
import { isQuiet, type CallPart, type Fact, type FileChange, type JournalRecord, type Msg, type NotApplied, type RefusedChange, type ResultPart, type Summary } from '../base/index.js'
import { addUsd } from '../model/index.js'
import { mergeSummaries, noSummary } from './summary.js'

type CallStart = Fact & { kind: 'call_start' }
type CallEnd = Fact & { kind: 'call_end' }

/** The state that a journal describes. Live and resumed runs build it the same way: by `apply`, fact after fact. */
export interface ConversationState {
  /** The messages that the model reads. */
  messages: Msg[]
  turn: number
  /** Present while a turn is open. */
  open: { turn_id: string; input: Msg } | undefined
  steps: number
  /** Calls of the step under way that began, and their results. */
  started: Map<string, CallStart>
  ended: Map<string, CallEnd>
  segment: (Fact & { kind: 'segment' }) | undefined
  /** How many of the messages were there before the turn. */
  earlier: number
  /** Inputs that were taken from the queue. */
  applied: string[]
  compactions: number
  /** The merged summary of all compactions; `goal` and the like are those of the last one. */
  summary: Summary
  /** Where the conversation lies as it was before the last compaction. */
  history_path: string | undefined
  /** Files that calls changed, the latest last. */
  touched: string[]
  /** Paths that calls named, the latest last. */
  named: string[]
  first_prompt: string
  /** The mode that a person chose for the calls of this session. */
  mode: Mode | undefined
  /** Calls since the last change that were to change something and changed nothing; `next` is what the last of them proposes. */
  not_applied: NotApplied[]
  next: string | undefined
  /** The model was not told of some of them. */
  untold: boolean
  /** Of all answers, in USD; `null` when one of them had no price. */
  cost: number | null
}
const most = { touched: 200, named: 500, not_applied: 20 }

export const emptyState = (): ConversationState => ({
  messages: [],
  turn: 0,
  open: undefined,
  steps: 0,
  started: new Map(),
  ended: new Map(),
  segment: undefined,
  earlier: 0,
  applied: [],
  compactions: 0,
  summary: noSummary,
  history_path: undefined,
  touched: [],
  named: [],
  first_prompt: '',
  mode: undefined,
  not_applied: [],
  next: undefined,
  untold: false,
  cost: 0,
})

/** Applies one fact. */
export function apply(state: ConversationState, fact: Fact, turn: number): void {
  switch (fact.kind) {
    case 'segment':
      state.segment = fact
      return
    case 'turn_start':
      state.turn = turn
      state.earlier = state.messages.length
      state.open = { turn_id: fact.turn_id, input: fact.input }
      state.messages = [...state.messages, fact.input]
      state.first_prompt ||= messageText(fact.input)
      if ((fact.input.origin ?? 'prompt') === 'prompt') allApplied(state)
      if (fact.input.intent_id !== undefined) state.applied = [...state.applied, fact.input.intent_id].slice(-64)
      return
    case 'turn_end':
      state.open = undefined
      return
    case 'message':
      state.messages = [...state.messages, fact.message]
      if (fact.message.role === 'assistant') state.steps += 1
      if (fact.tells) state.untold = false
      if (fact.cost_usd !== undefined) state.cost = addUsd(state.cost, fact.cost_usd)
      state.started.clear()
      state.ended.clear()
      return
    case 'call_start':
      state.started.set(fact.call_id, fact)
      state.named = latest(state.named, [(fact.input as { path?: unknown } | null)?.path].filter((path) => typeof path === 'string'), most.named)
      return
    case 'call_end':
      state.ended.set(fact.call_id, fact)
      state.touched = latest(state.touched, fact.changed ?? [], most.touched)
      noteApplied(state, state.started.get(fact.call_id), fact)
      return
    case 'compaction':
      state.messages = [...fact.inserted, ...state.messages.slice(fact.keep_from)]
      state.earlier = Math.max(0, state.earlier - fact.keep_from) + fact.inserted.length
      state.compactions += 1
      state.summary = mergeSummaries(state.summary, fact.summary)
      state.history_path = fact.history_path
      return
    case 'cleared':
      state.messages = state.messages.map((message) => cleared(message, fact))
      return
    case 'revert':
      state.turn = turn
      allApplied(state)
      return
    case 'mode':
      state.mode = fact.mode
      return
    case 'note':
  }
}

/** A change that was made is behind whatever was refused before it. */
function noteApplied(state: ConversationState, start: CallStart | undefined, { not_applied, is_error }: CallEnd): void {
  if (!start || isQuiet(start.effects)) return
  if (!not_applied) return is_error ? undefined : allApplied(state)
  const { next, ...refused } = not_applied
  state.not_applied = [...state.not_applied, refused].slice(-most.not_applied)
  state.next = next
  state.untold = true
}

function allApplied(state: ConversationState): void {
  Object.assign(state, { not_applied: [], next: undefined, untold: false })
}

/** The state after a whole journal. A reverted conversation is what it was before that turn. */
export function replay(records: readonly JournalRecord[]): ConversationState {
  const state = emptyState()
  const turns: { turn: number; content: Content }[] = []
  for (const record of records) {
    const content = contentOf(state)
    apply(state, record, record.turn)
    if (record.kind === 'revert' && record.scope !== 'code') takeBack(state, turns.find(({ turn }) => turn >= record.to_turn)?.content ?? content)
    if (beginsTurn(record)) turns.push({ turn: record.turn, content })
  }
  return state
}

/** The records before a turn. */
export function before(records: readonly JournalRecord[], turn: number): readonly JournalRecord[] {
  const first = records.findIndex((record) => beginsTurn(record) && record.turn >= turn)
  return first < 0 ? records : records.slice(0, first)
}

const beginsTurn = ({ kind }: JournalRecord): boolean => kind === 'turn_start' || kind === 'revert'

/** What a revert takes back. Nothing in it is changed in place, so keeping it costs nothing. */
type Content = Pick<ConversationState, 'messages' | 'summary' | 'history_path' | 'mode'>
const contentOf = ({ messages, summary, history_path, mode }: ConversationState): Content => ({ messages, summary, history_path, mode })

/** The conversation becomes what it was; the numbers of turns, steps, calls and compactions go on. */
function takeBack(state: ConversationState, content: Content): void {
  Object.assign(state, { ...content, earlier: content.messages.length, open: undefined })
}

/** Each once, the new ones last. */
const latest = (old: string[], paths: readonly string[], count: number): string[] => (paths.length > 0 ? [...old.filter((path) => !paths.includes(path)), ...paths].slice(-count) : old)

function cleared(message: Msg, { texts, inputs }: Fact & { kind: 'cleared' }): Msg {
  const parts = message.parts.map((part) => {
    if (!('call_id' in part) || !Object.hasOwn(texts, part.call_id)) return part
    return part.type === 'tool_result' ? { ...part, text: texts[part.call_id]! } : inputs ? { ...part, input: { cleared: true } } : part
  })
  return parts.some((part, index) => part !== message.parts[index]) ? { ...message, parts } : message
}

/** Every call of these messages, in their order. */
export const callsIn = (messages: readonly Msg[]): CallPart[] => messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'))

/** The calls of the last step that no result answers yet. */
export function unanswered({ messages }: ConversationState): CallPart[] {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.parts.filter((part) => part.type === 'tool_call') : []
}

export const messageText = ({ parts }: Msg): string => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** The result of a call, for the journal. */
export const callEnd = (call_id: string, answer: Pick<ResultPart, 'text' | 'is_error' | 'spool_path'>, changes: readonly FileChange[], not_applied?: RefusedChange): CallEnd => ({
  kind: 'call_end',
  call_id,
  ...answer,
  ...(changes.length > 0 && { changed: changes.map(({ path }) => path) }),
  ...(not_applied && { not_applied }),
})

/** A result as the model gets it. */
export const resultPart = ({ call_id, tool_call_id, name }: CallPart, { text, is_error, spool_path, changed }: Pick<ResultPart, 'text' | 'is_error' | 'spool_path' | 'changed'>): ResultPart => ({
  type: 'tool_result',
  call_id,
  tool_call_id,
  name,
  text,
  is_error,
  ...(spool_path !== undefined && { spool_path }),
  ...(changed && { changed }),
})
