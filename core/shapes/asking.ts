import type { JsonObject } from './types.js'
import { visible, visibleLine } from '../text/index.js'

/** One short question to the user; without options, the answer is free text. */
export interface Question {
  /** Key of the answer. */
  id: string
  /** One or two words. */
  header: string
  question: string
  options?: { label: string; description: string }[]
  /** Context that is shown with the question. */
  focus_area?: string
  analysis_hints?: string[]
}
/** Answers by the id of the question: chosen labels, and the user's own words. */
export type Answers = Record<string, { selected: string[]; other?: string }>
/**
 * Contract: offers a free answer next to the options; `undefined` when the user declines; throws when no user can be
 * asked.
 */
export type Asker = (questions: readonly Question[], signal: AbortSignal) => Promise<Answers | undefined>
/** The client of a connection, in the terms of MCP (2025-06-18 and later). */
export interface Client {
  /** As the client announced them: `elicitation`, `sampling`, `roots`. */
  readonly capabilities: Readonly<JsonObject>
  /** The state that an earlier run of this call stored with its requests; no other program can write it. */
  readonly state: unknown
  /**
   * Sends requests under names that the handler chooses, and resolves with the answers by these names. Contract:
   * rejects until all answers are there; then the client is asked and the handler runs again from its start, so nothing
   * may be done before this call.
   */
  request(requests: Readonly<Record<string, ClientRequest>>, state?: unknown): Promise<Record<string, JsonObject>>
}
export interface ClientRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  params?: JsonObject
}

/** Line ends in texts of others add no lines to a question. */
const joinLines = (text: string): string =>
  visibleLine(
    text
      .split('\n')
      .map((part) => part.trim())
      .filter(Boolean)
      .join(' '),
  )

/** Wraps an asker: a person sees escaped questions; an answer holds the original labels. */
export function createVisibleAsker(ask: Asker | undefined): Asker | undefined {
  if (!ask) return undefined
  return async (questions, signal) => {
    const answers = await ask(questions.map(toVisibleQuestion), signal)
    return (
      answers &&
      Object.fromEntries(
        Object.entries(answers).map(([id, answer]) => [
          id,
          toOriginalLabels(
            answer,
            questions.find((one) => one.id === id),
          ),
        ]),
      )
    )
  }
}

const toVisibleQuestion = ({ header, question, options, focus_area, analysis_hints, ...rest }: Question): Question => ({
  ...rest,
  header: joinLines(header),
  question: joinLines(question),
  ...(options && {
    options: listVisibleLabels(options).map((label, index) => ({
      label,
      description: joinLines(options[index]!.description),
    })),
  }),
  ...(focus_area !== undefined && { focus_area: joinLines(focus_area) }),
  ...(analysis_hints && { analysis_hints: analysis_hints.map(joinLines) }),
})

/** Returns the labels as shown, each of them unique. */
function listVisibleLabels(options: NonNullable<Question['options']>): string[] {
  const labels = new Set<string>()
  for (const { label } of options) {
    let text = joinLines(label)
    while (labels.has(text)) text += ' (another)'
    labels.add(text)
  }
  return [...labels]
}

function toOriginalLabels(answer: Answers[string], { options = [] }: Partial<Question> = {}): Answers[string] {
  const labels = listVisibleLabels(options)
  return { ...answer, selected: answer.selected.map((label) => options[labels.indexOf(label)]?.label ?? label) }
}

/** Wraps a client: texts of requests are escaped; values that its answer is compared with stay exact. */
export function createVisibleClient(client: Client | undefined): Client | undefined {
  if (!client) return undefined
  const { capabilities, state } = client
  const toVisibleRequest = (request: ClientRequest): ClientRequest =>
    request.params ? { ...request, params: toVisibleTexts(request.params) as JsonObject } : request
  return {
    capabilities,
    state,
    request: async (requests, left) =>
      client.request(
        Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, toVisibleRequest(request)])),
        left,
      ),
  }
}

const EXACT_KEYS = new Set(['enum', 'const', 'default', 'data', 'uri'])

/** `named`: the keys are names of fields and have no meaning of their own. */
function toVisibleTexts(value: unknown, named = false): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map((item) => toVisibleTexts(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      !named && EXACT_KEYS.has(key) ? item : toVisibleTexts(item, key === 'properties' && !named),
    ]),
  )
}
