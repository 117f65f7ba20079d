import type { Mode } from '../../../core/shapes/index.js'
import type { CallPart, Fact, FactOf, FileChange, Msg, ResultPart, Summary } from '../base/index.js'
import { addUsd } from '../model/index.js'
import { StateTable, type StatePart } from './state_table.js'
import { mergeSummaries, noSummary } from './summary.js'

/** The state that the facts of a conversation build: messages, the current turn, and the memory. */
export interface ConversationState {
  /** The messages that the model reads. */
  messages: Msg[]
  turn: number
  /** Present while a turn is open. */
  open: { turn_id: string; input: Msg } | undefined
  steps: number
  /** Started calls of the current step, and their results. */
  started: Map<string, FactOf<'call_start'>>
  ended: Map<string, FactOf<'call_end'>>
  /** Ended calls of the scripts of the current step, by the call of the script. */
  script_calls: Map<string, FactOf<'script_call'>[]>
  /** Values that scripts keep, as JSON. */
  stored: ReadonlyMap<string, string>
  segment: FactOf<'segment'> | undefined
  /** The ids of the models that answered. */
  asked: string[]
  /** The number of messages before the turn. */
  earlier: number
  /** Ids of the inputs taken from the queue. */
  applied: string[]
  compactions: number
  /** The merged summary of all compactions; `goal` and similar fields are those of the last one. */
  summary: Summary
  /** The archive of the conversation before the last compaction. */
  history_path: string | undefined
  /** Files that calls changed, the latest last. */
  touched: string[]
  /** Paths in the input of calls, the latest last. */
  named: string[]
  first_prompt: string
  /** The mode that a person chose for the calls of this session. */
  mode: Mode | undefined
  /** The cost of all answers in USD; `null` if one of them had no price. */
  cost: number | null
}
type Part<Own extends keyof ConversationState> = StatePart<object, Pick<ConversationState, Own>>
const most = { touched: 200, named: 500 }

const messagesPart: Part<
  'messages' | 'turn' | 'open' | 'steps' | 'started' | 'ended' | 'script_calls' | 'earlier' | 'applied' | 'first_prompt'
> = {
  begin: () => ({
    messages: [],
    turn: 0,
    open: undefined,
    steps: 0,
    started: new Map(),
    ended: new Map(),
    script_calls: new Map(),
    earlier: 0,
    applied: [],
    first_prompt: '',
  }),
  on: {
    turn_start(state, { turn_id, input }, turn) {
      state.turn = turn
      state.earlier = state.messages.length
      state.open = { turn_id, input }
      state.messages = [...state.messages, input]
      state.first_prompt ||= messageText(input)
      if (input.intent_id !== undefined) state.applied = [...state.applied, input.intent_id].slice(-64)
    },
    turn_end(state) {
      state.open = undefined
    },
    message(state, { message }) {
      state.messages = [...state.messages, message]
      if (message.role === 'assistant') state.steps += 1
      state.started.clear()
      state.ended.clear()
      state.script_calls.clear()
    },
    script_call({ script_calls }, fact) {
      const earlier = script_calls.get(fact.call_id)
      if (earlier) earlier.push(fact)
      else script_calls.set(fact.call_id, [fact])
    },
    call_start(state, fact) {
      state.started.set(fact.call_id, fact)
    },
    call_end(state, fact) {
      state.ended.set(fact.call_id, fact)
    },
    compaction(state, { keep_from, inserted }) {
      state.messages = [...inserted, ...state.messages.slice(keep_from)]
      state.earlier = Math.max(0, state.earlier - keep_from) + inserted.length
    },
    cleared(state, fact) {
      state.messages = state.messages.map((message) => clearParts(message, fact))
    },
    revert(state, { scope }, turn) {
      state.turn = turn
      if (scope !== 'code') Object.assign(state, { earlier: state.messages.length, open: undefined })
    },
  },
  reverted: ['messages'],
}

const summaryPart: Part<'compactions' | 'summary' | 'history_path' | 'segment' | 'asked'> = {
  begin: () => ({ compactions: 0, summary: noSummary, history_path: undefined, segment: undefined, asked: [] }),
  on: {
    segment(state, fact) {
      state.segment = fact
    },
    message({ asked, segment }, { message }) {
      if (segment && message.role === 'assistant' && !asked.includes(segment.model)) asked.push(segment.model)
    },
    compaction(state, { summary, history_path }) {
      state.compactions += 1
      state.summary = mergeSummaries(state.summary, summary)
      state.history_path = history_path
    },
  },
  reverted: ['summary', 'history_path'],
}

const filesPart: Part<'touched' | 'named'> = {
  begin: () => ({ touched: [], named: [] }),
  on: {
    call_start(state, { input }) {
      state.named = appendLatest(
        state.named,
        [(input as { path?: unknown } | null)?.path].filter((path) => typeof path === 'string'),
        most.named,
      )
    },
    call_end(state, { changed = [] }) {
      state.touched = appendLatest(state.touched, changed, most.touched)
    },
  },
}

const addCost = (state: Pick<ConversationState, 'cost'>, { cost_usd }: { cost_usd?: number | null }): void => {
  if (cost_usd !== undefined) state.cost = addUsd(state.cost, cost_usd)
}
const costPart: Part<'cost'> = { begin: () => ({ cost: 0 }), on: { message: addCost, phase: addCost } }

const modePart: Part<'mode'> = {
  begin: () => ({ mode: undefined }),
  on: {
    mode(state, { mode }) {
      state.mode = mode
    },
  },
  reverted: ['mode'],
  carried: ({ mode }): Fact[] => (mode === undefined ? [] : [{ kind: 'mode', mode, by: 'person' }]),
}

const storePart: Part<'stored'> = {
  begin: () => ({ stored: new Map() }),
  on: {
    store_value(state, { key, value }) {
      const values = new Map(state.stored)
      if (value === undefined) values.delete(key)
      else values.set(key, value)
      state.stored = values
    },
  },
  reverted: ['stored'],
  carried: ({ stored }): Fact[] => [...stored].map(([key, value]) => ({ kind: 'store_value', key, value })),
}

/** The state of a conversation alone; higher rooms add the parts that their facts build. */
export const conversationTable: StateTable<ConversationState> = StateTable.of(messagesPart)
  .with(summaryPart)
  .with(filesPart)
  .with(costPart)
  .with(modePart)
  .with(storePart)

/** Appends paths, each once, the new ones last. */
const appendLatest = (old: string[], paths: readonly string[], count: number): string[] =>
  paths.length > 0 ? [...old.filter((path) => !paths.includes(path)), ...paths].slice(-count) : old

function clearParts(message: Msg, { texts, inputs }: FactOf<'cleared'>): Msg {
  const parts = message.parts.map((part) => {
    if (!('call_id' in part) || !Object.hasOwn(texts, part.call_id)) return part
    return part.type === 'tool_result'
      ? replaceText(part, texts[part.call_id]!)
      : inputs
        ? { ...part, input: { cleared: true } }
        : part
  })
  return parts.some((part, index) => part !== message.parts[index]) ? { ...message, parts } : message
}

/** Replaces the text of a result. Images stay only if the new text extends the old one. */
function replaceText({ images, ...part }: ResultPart, text: string): ResultPart {
  return { ...part, text, ...(images && text.startsWith(part.text) && { images }) }
}

/** Lists every call of these messages in order. */
export const listCalls = (messages: readonly Msg[]): CallPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'tool_call'))

/** Lists the calls of the last step that no result answers yet. */
export function listUnansweredCalls({ messages }: ConversationState): CallPart[] {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.parts.filter((part) => part.type === 'tool_call') : []
}

export const messageText = ({ parts }: Msg): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** Returns the last text of the model; empty if there is none. */
export const lastText = (messages: readonly Msg[]): string =>
  messages
    .map((message) => (message.role === 'assistant' ? messageText(message) : ''))
    .findLast((text) => text.trim() !== '') ?? ''

type Answered = Pick<ResultPart, 'text' | 'is_error' | 'spool_path' | 'images'>
/** Creates the fact of a finished call for the journal. */
export const callEnd = (
  call_id: string,
  answer: Answered,
  changes: readonly FileChange[],
  change: Pick<FactOf<'call_end'>, 'applied' | 'not_applied' | 'effects'> = {},
): FactOf<'call_end'> => ({
  kind: 'call_end',
  call_id,
  ...answer,
  ...(changes.length > 0 && { changed: changes.map(({ path }) => path) }),
  ...change,
})

/** Creates the result part that the model reads. */
export const resultPart = (
  { call_id, tool_call_id, name }: CallPart,
  { text, is_error, spool_path, images, changed }: Answered & Pick<ResultPart, 'changed'>,
): ResultPart => ({
  type: 'tool_result',
  call_id,
  tool_call_id,
  name,
  text,
  is_error,
  ...(spool_path !== undefined && { spool_path }),
  ...(images && { images }),
  ...(changed && { changed }),
})
