import type { JsonObject, Schema } from '../../../core/shapes/index.js'
import { compile } from '../../../core/schema/index.js'
import { toErrorMessage, type EventBody, type Msg } from '../base/index.js'
import { createBudgetGuard, type PaidConversation } from '../ledger/index.js'
import { askModel, estimateTokens, type ModelAnswer, type ModelConnection, type ModelRequest } from '../model/index.js'

type Step = EventBody & { type: 'step.completed' }
/** A request for data: the model, the task, and the schema of the answer. */
export interface DataRequest {
  connection: ModelConnection
  /** The instructions; the schema is appended. */
  system: string
  task: string
  schema: Schema
  max_output_tokens: number
  /** A previous request to continue, because its server has cached it. Absent: the request is independent. */
  after?: ModelRequest
  /** Throws if an answer fits the schema but is unusable. */
  validate?: (value: JsonObject) => void
  /** Records the request as a separate step; without it the next step includes the cost. */
  purpose?: NonNullable<Step['purpose']>
}
const MAX_ATTEMPTS = 3
/** The characters for each allowed token that are kept of an invalid answer. */
const MAX_TOKEN_CHARS = 6

/**
 * Asks a model for data, without tool calls. The answer is the JSON from its first `{` to its last `}` and must fit
 * the schema. An invalid answer is returned to the model with its faults, twice at most. Returns `undefined` if no
 * answer fits. The cost counts for the run. Throws VT_LOOP_BUDGET, VT_LLM_*.
 */
export async function askForData(
  thread: PaidConversation,
  { connection, system: instructions, task, schema, max_output_tokens, after, validate, purpose }: DataRequest,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const check = await compile(schema)
  const system =
    `${instructions}\nAnswer with one JSON object that fits this schema, and with nothing else:\n` +
    JSON.stringify(schema)
  const standalone = {
    system,
    tools: [],
    weight: { system: estimateTokens(system), tools: 0 },
    session_id: thread.session_id,
  }
  const messages: Msg[] = after
    ? [...after.messages, createMessage('user', `${system}\n\n${task}`)]
    : [createMessage('user', task)]
  for (let attempt = 1; ; attempt++) {
    const request: ModelRequest = { ...(after ?? standalone), messages, max_output_tokens, without_calls: true }
    const answer = await askModel(
      connection,
      request,
      { providers: thread.providers, speech: SILENT_SPEECH, onRetry: async () => {}, ...createBudgetGuard(thread) },
      signal,
    )
    if (purpose) await reportStep(thread, connection, answer, purpose)
    else thread.costs.recordSideRequest(answer)
    const text = answer.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
    try {
      const value = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as JsonObject
      const issues = check(value)
      if (issues.length > 0)
        throw new Error(
          issues
            .map(({ problem }) => problem)
            .join(' ')
            .slice(0, 2000),
        )
      validate?.(value)
      return value
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) return undefined
      messages.push(
        createMessage('assistant', text.slice(0, max_output_tokens * MAX_TOKEN_CHARS) || '(nothing)'),
        createMessage('user', `That does not fit: ${toErrorMessage(error)}\nAnswer with the JSON object alone.`),
      )
    }
  }
}

async function reportStep(
  { events, costs, state }: PaidConversation,
  { model }: ModelConnection,
  answer: ModelAnswer,
  purpose: Step['purpose'] & string,
): Promise<void> {
  const { usage, cost } = costs.recordStep(answer)
  const { finish, ttft_ms, duration_ms, attempts } = answer
  await events.emit({
    type: 'step.completed',
    step: state.steps,
    model: model.id,
    finish_reason: finish,
    usage,
    cost_usd: cost,
    ttft_ms,
    duration_ms,
    attempts,
    item_ids: [],
    purpose,
  })
}

const createMessage = (role: Msg['role'], text: string): Msg => ({
  role,
  parts: [{ type: 'text', text }],
  ...(role === 'user' && { origin: 'harness' }),
})
const SILENT_SPEECH: Parameters<typeof askModel>[2]['speech'] = {
  appendText: () => undefined,
  appendArguments: () => {},
  findItemId: () => undefined,
  end: async () => [],
}
