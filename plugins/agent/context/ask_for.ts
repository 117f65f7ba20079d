import type { JsonObject, Schema } from '../../../core/shapes/index.js'
import { compile } from '../../../core/schema/index.js'
import { messageOf, type EventBody, type Msg } from '../base/index.js'
import { budgetOf, type PaidConversation } from '../ledger/index.js'
import { askModel, tokensOf, type ModelAnswer, type ModelConnection, type ModelRequest } from '../model/index.js'

type Step = EventBody & { type: 'step.completed' }
/** What a model is asked for: who, what, and how the answer has to look. */
export interface DataRequest {
  connection: ModelConnection
  /** Says what to answer with; the schema is sent with it. */
  system: string
  task: string
  schema: Schema
  max_output_tokens: number
  /** What the request goes on from: its server has read all of that already. Absent: the request stands alone. */
  after?: ModelRequest
  /** Throws where an answer that fits the schema is of no use all the same. */
  checked?: (value: JsonObject) => void
  /** The request is told as a step of its own; without it what it costs is told with the next step. */
  purpose?: NonNullable<Step['purpose']>
}
const mostAttempts = 3
/** What is sent back of an answer that does not fit, in characters for each token it may have. */
const longestToken = 6

/**
 * Asks a model for data: no calls, the answer from its first `{` to its last `}`, which has to fit the schema. What does not is sent back
 * with what is wrong, twice at most; nothing when it never fits. What it costs counts for the run. Throws VT_LOOP_BUDGET, VT_LLM_*.
 */
export async function askFor(
  thread: PaidConversation,
  { connection, system: instructions, task, schema, max_output_tokens, after, checked, purpose }: DataRequest,
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  const check = await compile(schema)
  const system = `${instructions}\nAnswer with one JSON object that fits this schema, and with nothing else:\n${JSON.stringify(schema)}`
  const alone = { system, tools: [], weight: { system: tokensOf(system), tools: 0 }, session_id: thread.session_id }
  const messages: Msg[] = after ? [...after.messages, said('user', `${system}\n\n${task}`)] : [said('user', task)]
  for (let attempt = 1; ; attempt++) {
    const request: ModelRequest = { ...(after ?? alone), messages, max_output_tokens, without_calls: true }
    const answer = await askModel(
      connection,
      request,
      { providers: thread.providers, speech: silent, retrying: async () => {}, ...budgetOf(thread) },
      signal,
    )
    if (purpose) await tellStep(thread, connection, answer, purpose)
    else thread.costs.recordAside(answer)
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
      checked?.(value)
      return value
    } catch (error) {
      if (attempt === mostAttempts) return undefined
      messages.push(
        said('assistant', text.slice(0, max_output_tokens * longestToken) || '(nothing)'),
        said('user', `That does not fit: ${messageOf(error)}\nAnswer with the JSON object alone.`),
      )
    }
  }
}

async function tellStep(
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

const said = (role: Msg['role'], text: string): Msg => ({
  role,
  parts: [{ type: 'text', text }],
  ...(role === 'user' && { origin: 'harness' }),
})
const silent = { grew: () => undefined, asks: () => {}, itemOf: () => undefined, end: async () => [] }
