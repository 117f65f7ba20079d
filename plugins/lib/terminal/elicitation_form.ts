import type { Answers, Question } from '../../../core/shapes/index.js'

/** An elicitation form (MCP 2025-06-18 and later: a flat object of primitive fields). */
export interface ElicitationForm {
  message: string
  requestedSchema: { type: 'object'; properties: Record<string, Field>; required: string[] }
}
type Field = { type: 'string'; title: string; description?: string; enum?: string[] }

/** Creates a form with one field for each question. A question with choices has a second field for a free answer. */
export function toElicitationForm(questions: readonly Question[]): ElicitationForm {
  const properties: Record<string, Field> = {}
  const required: string[] = []
  for (const { id, header, question, options } of questions) {
    if (options) {
      properties[id] = { type: 'string', title: header, description: question, enum: options.map(({ label }) => label) }
      properties[toOtherFieldId(id)] = {
        type: 'string',
        title: `${header}: something else`,
        description: 'Your own answer instead of a choice.',
      }
    } else {
      properties[id] = { type: 'string', title: header, description: question }
      required.push(id)
    }
  }
  return {
    message: questions.map(formatQuestion).join('\n\n'),
    requestedSchema: { type: 'object', properties, required },
  }
}

/** Returns the answers in the response of a client, or `undefined` when the user declined. */
export function parseAnswers(questions: readonly Question[], response: unknown): Answers | undefined {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: Record<string, unknown> }
  if (action !== 'accept') return undefined
  const text = (name: string): string => {
    const value = content && Object.hasOwn(content, name) ? content[name] : undefined
    return typeof value === 'string' ? value.trim() : ''
  }
  return Object.fromEntries(
    questions.map(({ id, options }) => {
      const other = text(options ? toOtherFieldId(id) : id)
      const chosen = options ? text(id) : ''
      return [id, { selected: chosen ? [chosen] : [], ...(other && { other }) }]
    }),
  )
}

// Ids of questions are lower case, so this name is free.
const toOtherFieldId = (id: string): string => `${id}_OTHER`

function formatQuestion({ question, options = [], focus_area, analysis_hints = [] }: Question): string {
  const choices = options.map(({ label, description }) => `- ${label}: ${description}`)
  return [question, ...(focus_area ? [focus_area] : []), ...analysis_hints, ...choices].join('\n')
}
