import type { CallPart, Fact, Msg, ResultPart } from '../types.js'

type CallStart = Fact & { kind: 'call_start' }
type CallEnd = Fact & { kind: 'call_end' }

/** What a journal says so far. Live runs and resumed ones come to it in the same way: by `apply`, fact after fact. */
export interface State {
  /** What the model is told. */
  messages: Msg[]
  turn: number
  /** Present while a turn is open. */
  open: { turn_id: string; input: Msg } | undefined
  steps: number
  /** Calls that began, and what came of them, of the step under way. */
  started: Map<string, CallStart>
  ended: Map<string, CallEnd>
  segment: (Fact & { kind: 'segment' }) | undefined
  /** The messages before each turn, for going back. */
  before: Map<number, Msg[]>
  /** Inputs that were taken from the queue. */
  applied: string[]
  compactions: number
  first_prompt: string
}

export const emptyState = (): State => ({
  messages: [],
  turn: 0,
  open: undefined,
  steps: 0,
  started: new Map(),
  ended: new Map(),
  segment: undefined,
  before: new Map(),
  applied: [],
  compactions: 0,
  first_prompt: '',
})

/** One fact more. */
export function apply(state: State, fact: Fact, turn: number): void {
  switch (fact.kind) {
    case 'segment':
      state.segment = fact
      return
    case 'turn_start':
      state.before.set(turn, state.messages)
      state.turn = turn
      state.open = { turn_id: fact.turn_id, input: fact.input }
      state.messages = [...state.messages, fact.input]
      state.first_prompt ||= textOf(fact.input)
      if (fact.input.intent_id !== undefined) state.applied = [...state.applied, fact.input.intent_id].slice(-64)
      return
    case 'turn_end':
      state.open = undefined
      return
    case 'message':
      state.messages = [...state.messages, fact.message]
      if (fact.message.role === 'assistant') state.steps += 1
      state.started.clear()
      state.ended.clear()
      return
    case 'call_start':
      state.started.set(fact.call_id, fact)
      return
    case 'call_end':
      state.ended.set(fact.call_id, fact)
      return
    case 'compaction':
      state.messages = [...fact.inserted, ...state.messages.slice(fact.keep_from)]
      state.compactions += 1
      return
    case 'cleared':
      state.messages = state.messages.map((message) => cleared(message, fact.texts))
      return
    case 'revert':
      if (fact.scope !== 'code') state.messages = state.before.get(fact.to_turn) ?? []
      return
    case 'note':
  }
}

function cleared(message: Msg, texts: Record<string, string>): Msg {
  const touched = message.parts.some((part) => part.type === 'tool_result' && Object.hasOwn(texts, part.call_id))
  if (!touched) return message
  return { ...message, parts: message.parts.map((part) => (part.type === 'tool_result' && Object.hasOwn(texts, part.call_id) ? { ...part, text: texts[part.call_id]! } : part)) }
}

/** The calls of the last step that no result answers yet. */
export function unanswered({ messages }: State): CallPart[] {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.parts.filter((part) => part.type === 'tool_call') : []
}

export const textOf = ({ parts }: Msg): string => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

/** A result as the model gets it. */
export const resultPart = ({ call_id, tool_call_id, name }: CallPart, { text, is_error, spool_path }: Pick<ResultPart, 'text' | 'is_error' | 'spool_path'>): ResultPart => ({
  type: 'tool_result',
  call_id,
  tool_call_id,
  name,
  text,
  is_error,
  ...(spool_path !== undefined && { spool_path }),
})
