import type { JsonObject } from './types.js'
import { visible, visibleLine } from './visible.js'

interface Question {
  id: string
  header: string
  question: string
  options?: { label: string; description: string }[]
  focus_area?: string
  analysis_hints?: string[]
}
type Answers = Record<string, { selected: string[]; other?: string }>
type Asker = (questions: readonly Question[], signal: AbortSignal) => Promise<Answers | undefined>
interface Client<Request, Given> {
  readonly capabilities: Readonly<JsonObject>
  readonly state: unknown
  request(requests: Readonly<Record<string, Request>>, state?: unknown): Promise<Given>
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
export function visibleClient<Request extends { params?: JsonObject }, Given>(client: Client<Request, Given> | undefined): Client<Request, Given> | undefined {
  if (!client) return undefined
  const { capabilities, state } = client
  const told = (request: Request): Request => (request.params ? { ...request, params: visibleTexts(request.params) as JsonObject } : request)
  return { capabilities, state, request: async (requests, left) => client.request(Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, told(request)])), left) }
}

const exact = new Set(['enum', 'const', 'default', 'data', 'uri'])

function visibleTexts(value: unknown): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map(visibleTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, exact.has(key) ? item : visibleTexts(item)]))
}
