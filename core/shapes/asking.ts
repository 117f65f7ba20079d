import type { JsonObject } from './types.js'
import { visible, visibleLine } from '../text/index.js'

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
const line = (text: string): string =>
  visibleLine(
    text
      .split('\n')
      .map((part) => part.trim())
      .filter(Boolean)
      .join(' '),
  )

/** Questions as a person may see them; an answer names the labels that the asker gave. */
export function visibleAsker(ask: Asker | undefined): Asker | undefined {
  if (!ask) return undefined
  return async (questions, signal) => {
    const answers = await ask(questions.map(shown), signal)
    return (
      answers &&
      Object.fromEntries(
        Object.entries(answers).map(([id, answer]) => [
          id,
          given(
            answer,
            questions.find((one) => one.id === id),
          ),
        ]),
      )
    )
  }
}

const shown = ({ header, question, options, focus_area, analysis_hints, ...rest }: Question): Question => ({
  ...rest,
  header: line(header),
  question: line(question),
  ...(options && {
    options: labelsOf(options).map((label, index) => ({ label, description: line(options[index]!.description) })),
  }),
  ...(focus_area !== undefined && { focus_area: line(focus_area) }),
  ...(analysis_hints && { analysis_hints: analysis_hints.map(line) }),
})

/** Labels as they are shown, each once: an answer is one of them. */
function labelsOf(options: NonNullable<Question['options']>): string[] {
  const labels = new Set<string>()
  for (const { label } of options) {
    let text = line(label)
    while (labels.has(text)) text += ' (another)'
    labels.add(text)
  }
  return [...labels]
}

function given(answer: Answers[string], { options = [] }: Partial<Question> = {}): Answers[string] {
  const labels = labelsOf(options)
  return { ...answer, selected: answer.selected.map((label) => options[labels.indexOf(label)]?.label ?? label) }
}

/** Requests to a client with their texts visible; what its answer is compared with stays exact. */
export function visibleClient(client: Client | undefined): Client | undefined {
  if (!client) return undefined
  const { capabilities, state } = client
  const told = (request: ClientRequest): ClientRequest =>
    request.params ? { ...request, params: visibleTexts(request.params) as JsonObject } : request
  return {
    capabilities,
    state,
    request: async (requests, left) =>
      client.request(
        Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, told(request)])),
        left,
      ),
  }
}

const exact = new Set(['enum', 'const', 'default', 'data', 'uri'])

/** `named`: the keys are names of fields, which mean nothing. */
function visibleTexts(value: unknown, named = false): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map((item) => visibleTexts(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      !named && exact.has(key) ? item : visibleTexts(item, key === 'properties' && !named),
    ]),
  )
}
