import type { Asker, Question } from '../../../core/index.js'

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

const declined: Answer = { action: 'decline' }

/** A server's question to the user, put by whoever can be asked; without anybody it is declined, as are forms on foreign pages. */
export async function answerForm(params: unknown, ask: Asker | undefined, signal: AbortSignal): Promise<Answer> {
  const { message = '', requestedSchema } = params as Form
  if (!ask || !requestedSchema) return declined
  const fields = Object.entries(requestedSchema.properties ?? {})
  const asked = fields.length > 0 ? fields : ([['confirm', { type: 'boolean' }]] as [string, Field][])
  const answers = await ask(asked.map(([name, field], at) => questionOf(name, field, at === 0 ? message : '')), signal).catch(() => undefined)
  if (!answers) return declined
  const content: Record<string, Value> = {}
  for (const [name, field] of fields) {
    const { selected = [], other } = answers[name] ?? {}
    const value = valueOf(field, selected, other) ?? field.default
    if (value !== undefined) content[name] = value
    else if (requestedSchema.required?.includes(name)) return declined
  }
  if (fields.length === 0 && answers['confirm']?.selected[0] !== 'yes') return declined
  return { action: 'accept', content }
}

function questionOf(id: string, field: Field, message: string): Question {
  const { title = id, description, default: usual } = field
  const question = [message, description ?? title, usual === undefined ? '' : `Without an answer: ${String(usual)}`].filter(Boolean).join('\n')
  const labels = choicesOf(field)
  return { id, header: title.slice(0, 24), question, ...(labels && { options: labels.map((label) => ({ label, description: '' })) }) }
}

function choicesOf({ type, enum: plain, oneOf, items }: Field): string[] | undefined {
  if (type === 'boolean') return ['yes', 'no']
  return plain ?? oneOf?.map((option) => option.const) ?? items?.enum ?? items?.anyOf?.map((option) => option.const)
}

function valueOf(field: Field, selected: string[], other: string | undefined): Value | undefined {
  if (field.type === 'array') return selected.length > 0 ? selected : undefined
  const text = selected[0] ?? other
  if (text === undefined) return undefined
  if (field.type === 'boolean') return text === 'yes' || text === 'true'
  if (field.type !== 'number' && field.type !== 'integer') return text
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}
