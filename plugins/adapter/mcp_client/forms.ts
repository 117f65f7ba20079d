import { toText, visible } from '../../../core/text/index.js'
import { findSchemaProblem } from '../../../core/schema/index.js'
import type { Asker, Question, Schema } from '../../../core/index.js'
import { toShortLine } from '../../lib/net/index.js'

interface Field {
  type?: string
  title?: string
  description?: string
  default?: Value
  enum?: string[]
  oneOf?: { const: string; title?: string }[]
  items?: { enum?: string[]; anyOf?: { const: string; title?: string }[] }
}
interface Form {
  message?: string
  requestedSchema?: { properties?: Record<string, Field>; required?: string[] }
}
type Value = string | number | boolean | string[]
type Answer = { action: 'accept'; content: Record<string, Value> } | { action: 'decline' }

/** Limits of a form that a person can answer; texts in characters. */
const MAX_FIELDS = 50
const MAX_CHOICES = 200
const MAX_TEXT_CHARS = 4_000
const MAX_NAME_CHARS = 200
const MAX_CHOICE_CHARS = 500

const declined: Answer = { action: 'decline' }

export interface FormOptions {
  /** Names the server to the user. */
  server: string
  ask: Asker | undefined
  signal: AbortSignal
}

/** Forms in a row while calls are active. */
const MAX_FORMS = 16

/** The questions of one server: one at a time and few in a row. The rest is declined. */
export class Forms {
  #turn: Promise<unknown> = Promise.resolve()
  #asked = 0

  answer(params: unknown, options: () => FormOptions): Promise<Answer> {
    if (++this.#asked > MAX_FORMS) return Promise.resolve(declined)
    const answer = this.#turn.then(() => answerForm(params, options()))
    this.#turn = answer.catch(() => undefined)
    return answer
  }

  /** Resets the count when no call is active. */
  reset(): void {
    this.#turn = Promise.resolve()
    this.#asked = 0
  }
}

/** Asks the user the question of a server. Declines without a user, and for forms on foreign pages. */
async function answerForm(params: unknown, { server, ask, signal }: FormOptions): Promise<Answer> {
  const { message = '', requestedSchema } = params as Form
  if (!ask || !requestedSchema || findSchemaProblem(requestedSchema as Schema) !== undefined) return declined
  const fields = Object.entries(requestedSchema.properties ?? {})
  if (fields.length > MAX_FIELDS || !fields.every(([name, field]) => isShowable(name, field))) return declined
  const asked = fields.length > 0 ? fields : ([['confirm', { type: 'boolean' }]] as [string, Field][])
  const answers = await ask(
    asked.map(([name, field], at) => toQuestion(name, field, at === 0 ? message : '', server)),
    signal,
  ).catch(() => undefined)
  if (!answers) return declined
  const content = collectContent(fields, answers)
  const needed = fields.filter(([name]) => requestedSchema.required?.includes(name))
  if (needed.some(([name]) => !Object.hasOwn(content, name))) return declined
  if (fields.length === 0 && answers['confirm']?.selected[0] !== 'yes') return declined
  return { action: 'accept', content }
}

type Answers = NonNullable<Awaited<ReturnType<Asker>>>

const collectContent = (fields: [string, Field][], answers: Answers): Record<string, Value> =>
  Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const { selected = [], other } = answers[name] ?? {}
      const value = parseAnswerValue(field, selected, other) ?? field.default
      return value === undefined ? [] : [[name, value]]
    }),
  )

/** Returns whether a form can be shown. Names are keys and choices are shown whole, so neither may be shortened. */
const isShowable = (name: string, field: Field): boolean =>
  name.length <= MAX_NAME_CHARS &&
  visible(name) === name &&
  (listChoices(field) ?? []).every((choice) => toText(choice).length <= MAX_CHOICE_CHARS)

/** Builds the question. Each line of the server is marked, so that none passes for ours or for another server's. */
function toQuestion(id: string, field: Field, message: string, server: string): Question {
  const { title = id, description, default: usual } = field
  const words = [message, title, description ?? ''].filter(Boolean).join('\n').slice(0, MAX_TEXT_CHARS)
  const quoted = words.split(/[\n\r\u0085\u2028\u2029\v\f]+/).map((line) => `> ${line}`)
  const question = [
    `The MCP server ${server} asks:`,
    ...quoted,
    ...(usual === undefined ? [] : [`Without an answer: ${toShortLine(toText(usual), 200)}`]),
  ].join('\n')
  const labels = listChoices(field)
  return {
    id,
    header: server.slice(0, 24),
    question,
    ...(labels && { options: labels.map((label) => ({ label, description: '' })) }),
  }
}

function listChoices({ type, enum: plain, oneOf, items }: Field): string[] | undefined {
  if (type === 'boolean') return ['yes', 'no']
  const choices =
    plain ?? oneOf?.map((option) => option.const) ?? items?.enum ?? items?.anyOf?.map((option) => option.const)
  return choices?.slice(0, MAX_CHOICES)
}

function parseAnswerValue(field: Field, selected: string[], other: string | undefined): Value | undefined {
  if (field.type === 'array') return selected.length > 0 ? selected : undefined
  const text = selected[0] ?? other
  if (text === undefined) return undefined
  if (field.type === 'boolean') return text === 'yes' || text === 'true'
  if (field.type !== 'number' && field.type !== 'integer') return text
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
