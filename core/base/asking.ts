import type { JsonObject } from './types.js'
import { visible, visibleLine } from './visible.js'

/** One short question to the user; without options the answer is free text. */
export interface Question {
  /** Names the answer. */
  id: string
  /** A word or two. */
  header: string
  question: string
  options?: { label: string; description: string }[]
  /** Context to show with the question. */
  focus_area?: string
  analysis_hints?: string[]
}
/** Answers by the id of the question: labels that were chosen, and what the user wrote in their own words. */
export type Answers = Record<string, { selected: string[]; other?: string }>
/** Contract: offers a free answer beside the options; `undefined` when the user declines; a throw means that nobody could be asked. */
export type Asker = (questions: readonly Question[], signal: AbortSignal) => Promise<Answers | undefined>
/** What the client of a connection can be asked for, in the words of MCP (2025-06-18 and later). */
export interface Client {
  /** As it announced them: `elicitation`, `sampling`, `roots`. */
  readonly capabilities: Readonly<JsonObject>
  /** What an earlier run of this very call left with its requests; nobody else can have written it. */
  readonly state: unknown
  /**
   * Puts requests under names of the handler's own and resolves with the answers by these names. Contract: until all are there it
   * rejects, the client is asked, and the handler runs again from its start, so nothing may have been done before it.
   */
  request(requests: Readonly<Record<string, ClientRequest>>, state?: unknown): Promise<Record<string, JsonObject>>
}
export interface ClientRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  params?: JsonObject
}

/** Line ends of others make no lines of a question. */
const line = (text: string): string => visibleLine(text.split('\n').map((part) => part.trim()).filter(Boolean).join(' '))

/** Questions as a person may see them; an answer names the labels that the asker gave. */
export function visibleAsker(ask: Asker | undefined): Asker | undefined {
  if (!ask) return undefined
  return async (questions, signal) => {
    const answers = await ask(questions.map(shown), signal)
    return answers && Object.fromEntries(Object.entries(answers).map(([id, answer]) => [id, given(answer, questions.find((one) => one.id === id))]))
  }
}

const shown = ({ header, question, options, focus_area, analysis_hints, ...rest }: Question): Question => ({
  ...rest,
  header: line(header),
  question: line(question),
  ...(options && { options: options.map(({ label, description }) => ({ label: line(label), description: line(description) })) }),
  ...(focus_area !== undefined && { focus_area: line(focus_area) }),
  ...(analysis_hints && { analysis_hints: analysis_hints.map(line) }),
})

const given = (answer: Answers[string], asked: Question | undefined): Answers[string] => ({
  ...answer,
  selected: answer.selected.map((label) => asked?.options?.find((option) => line(option.label) === label)?.label ?? label),
})

/** Requests to a client with their texts visible; what its answer is compared with stays exact. */
export function visibleClient(client: Client | undefined): Client | undefined {
  if (!client) return undefined
  const { capabilities, state } = client
  const told = (request: ClientRequest): ClientRequest => (request.params ? { ...request, params: visibleTexts(request.params) as JsonObject } : request)
  return { capabilities, state, request: async (requests, left) => client.request(Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, told(request)])), left) }
}

const exact = new Set(['enum', 'const', 'default', 'data', 'uri'])

function visibleTexts(value: unknown): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map(visibleTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, exact.has(key) ? item : visibleTexts(item)]))
}
