import type { JsonObject, Schema } from '../../../core/base/index.js'
import { compile } from '../../../core/schema/index.js'
import { messageOf, type Msg } from '../base/index.js'
import { budgetOf, type PaidConversation } from '../ledger/index.js'
import { askModel, tokensOf, type ModelConnection, type ModelRequest } from '../model/index.js'

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
}
const mostAttempts = 3

/**
 * Asks a model for data: no calls, the answer from its first `{` to its last `}`, which has to fit the schema. What does not is sent back
 * with what is wrong, twice at most; nothing when it never fits. What it costs counts for the run. Throws VT_LOOP_BUDGET, VT_LLM_*.
 */
export async function askFor(thread: PaidConversation, { connection, system: instructions, task, schema, max_output_tokens, after }: DataRequest, signal: AbortSignal): Promise<JsonObject | undefined> {
  const check = await compile(schema)
  const system = `${instructions}\nAnswer with one JSON object that fits this schema, and with nothing else:\n${JSON.stringify(schema)}`
  const alone = { system, tools: [], weight: { system: tokensOf(system), tools: 0 }, session_id: thread.session_id }
  const messages: Msg[] = after ? [...after.messages, said('user', `${system}\n\n${task}`)] : [said('user', task)]
  for (let attempt = 1; ; attempt++) {
    const request: ModelRequest = { ...(after ?? alone), messages, max_output_tokens, without_calls: true }
    const { parts, ...cost } = await askModel(connection, request, { providers: thread.providers, speech: silent, retrying: async () => {}, ...budgetOf(thread) }, signal)
    thread.costs.recordAside(cost)
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
    try {
      const value = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as JsonObject
      const issues = check(value)
      if (issues.length === 0) return value
      throw new Error(issues.map(({ problem }) => problem).join(' '))
    } catch (error) {
      if (attempt === mostAttempts) return undefined
      messages.push(said('assistant', text || '(nothing)'), said('user', `That does not fit: ${messageOf(error)}\nAnswer with the JSON object alone.`))
    }
  }
}

const said = (role: Msg['role'], text: string): Msg => ({ role, parts: [{ type: 'text', text }], ...(role === 'user' && { origin: 'harness' }) })
const silent = { grew: () => undefined, asks: () => {}, itemOf: () => undefined, end: async () => [] }
