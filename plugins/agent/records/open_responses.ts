import type { JsonObject } from '../../../core/shapes/index.js'
import {
  toArguments,
  RunReducer,
  type LoggedEvent,
  type TracedCall,
  type TracedEnd,
  type RunPiece,
  type StepRecord,
  type StepText,
} from '../runs/index.js'

/**
 * Exports a log as streamed responses of Open Responses 2026-04-24, an event a line: one response for each step,
 * linked by `previous_response_id`. Parts of requests (messages of people, results of calls) become
 * `vtcode:input_item` at the head of their response; data without a standard type gets `vtcode:…`. `sequence_number`
 * starts at 0 in each response and continues between two.
 */
export async function* exportOpenResponses(events: AsyncIterable<LoggedEvent>): AsyncGenerator<string> {
  const reducer = new RunReducer()
  const stream = new ResponseStream(reducer)
  for await (const event of events) for (const piece of reducer.add(event)) yield* stream.renderPiece(piece)
  for (const piece of reducer.end()) yield* stream.renderPiece(piece)
}

class ResponseStream {
  private sequence = 0
  private previous: string | null = null
  /** Input items of the next response. */
  private input: JsonObject[] = []

  constructor(private readonly reducer: RunReducer) {}

  *renderPiece(piece: RunPiece): Generator<string> {
    switch (piece.kind) {
      case 'message':
        this.input.push({
          type: 'message',
          id: piece.id,
          status: 'completed',
          role: 'user',
          content: [{ type: 'input_text', text: piece.text }],
        })
        return
      case 'step':
        return yield* this.response(piece)
      case 'own_call':
        return yield this.line('vtcode:command_execution', { item: toOwnItem(piece.call) })
      case 'boundary': {
        const { kind: _, what, ...about } = piece
        return yield this.line(what === 'reset' ? 'vtcode:context_reset' : 'vtcode:compact_boundary', about)
      }
      case 'child':
        return yield this.line('vtcode:subagent', {
          item: {
            type: 'vtcode:subagent',
            id: piece.id,
            status: piece.status,
            thread_id: piece.thread_id,
            name: piece.name,
          },
        })
      case 'note': {
        const type = piece.error ? 'vtcode:error' : 'vtcode:note'
        return yield this.line(type, {
          item: { type, id: piece.id, status: 'completed', name: piece.name, text: piece.text },
        })
      }
      case 'run_end':
        return yield this.line('vtcode:thread_completed', toEnd(piece.end))
    }
  }

  private line(type: string, body: object): string {
    return `${JSON.stringify({ type, sequence_number: this.sequence++, ...body })}\n`
  }

  private *response(step: StepRecord): Generator<string> {
    const id = `resp_${this.reducer.head.thread_id}_${step.position}`
    const base = createResponse(step, id, this.previous)
    this.sequence = 0
    yield this.line('response.created', { response: base })
    yield this.line('response.in_progress', { response: base })
    for (const item of this.input) yield this.line('vtcode:input_item', { item })
    this.input = step.calls.map(toOutputItem)
    const output: JsonObject[] = []
    for (const text of step.texts) if (text.status !== 'discarded') yield* this.text(text, output)
    for (const call of step.calls) yield* this.toolCall(call, output)
    for (const call of step.calls)
      for (const item of listExtensionItems(call)) yield this.line(String(item['type']), { item })
    const status =
      step.status === 'cut'
        ? 'failed'
        : step.finish_reason === 'length' || step.finish_reason === 'content-filter'
          ? 'incomplete'
          : 'completed'
    yield this.line(`response.${status}`, { response: { ...base, ...endResponse(step, status), output } })
    this.previous = id
  }

  private *text({ id, type, text, status }: StepText, output: JsonObject[]): Generator<string> {
    const output_index = output.length
    const at = { item_id: id, output_index, content_index: 0 }
    const reasoning = type === 'reasoning'
    const part = (value: string) =>
      reasoning
        ? { type: 'reasoning_text', text: value }
        : { type: 'output_text', text: value, annotations: [], logprobs: [] }
    const item = (state: string, content: object[]) =>
      reasoning
        ? { type: 'reasoning', id, status: state, summary: [], content }
        : { type: 'message', id, status: state, role: 'assistant', content }
    const done = item(status === 'completed' ? 'completed' : 'incomplete', [part(text)]) as JsonObject
    yield this.line('response.output_item.added', { output_index, item: item('in_progress', []) })
    yield this.line('response.content_part.added', { ...at, part: part('') })
    const word = reasoning ? 'response.reasoning' : 'response.output_text'
    const logprobs = reasoning ? {} : { logprobs: [] }
    yield this.line(`${word}.delta`, { ...at, delta: text, ...logprobs })
    yield this.line(`${word}.done`, { ...at, text, ...logprobs })
    yield this.line('response.content_part.done', { ...at, part: part(text) })
    yield this.line('response.output_item.done', { output_index, item: done })
    output.push(done)
  }

  private *toolCall(call: TracedCall, output: JsonObject[]): Generator<string> {
    const { item_id, call_id, tool } = call
    const output_index = output.length
    const written = JSON.stringify(toArguments(call))
    const item = (status: string, text: string): JsonObject => ({
      type: 'function_call',
      id: item_id,
      call_id,
      name: tool,
      arguments: text,
      status,
    })
    const done = item('completed', written)
    yield this.line('response.output_item.added', { output_index, item: item('in_progress', '') })
    yield this.line('response.function_call_arguments.delta', { item_id, output_index, delta: written })
    yield this.line('response.function_call_arguments.done', { item_id, output_index, arguments: written })
    yield this.line('response.output_item.done', { output_index, item: done })
    output.push(done)
  }
}

/** Creates a new response; unknown fields have the standard's "not set" value. */
const createResponse = (
  { model, started_at }: StepRecord,
  id: string,
  previous_response_id: string | null,
): JsonObject => ({
  id,
  object: 'response',
  created_at: seconds(started_at),
  completed_at: null,
  status: 'in_progress',
  incomplete_details: null,
  model,
  previous_response_id,
  instructions: null,
  output: [],
  error: null,
  tools: [],
  tool_choice: 'auto',
  truncation: 'disabled',
  parallel_tool_calls: true,
  text: { format: { type: 'text' } },
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  temperature: 1,
  reasoning: null,
  user: null,
  usage: null,
  max_output_tokens: null,
  max_tool_calls: null,
  store: false,
  background: false,
  service_tier: 'default',
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null,
})

function endResponse({ usage, finish_reason, ended_at, status: how }: StepRecord, status: string): JsonObject {
  const { input_tokens, cached_input_tokens: cached_tokens, output_tokens, reasoning_tokens = 0 } = usage
  const counted = {
    input_tokens,
    input_tokens_details: { cached_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  }
  return {
    status,
    completed_at: status === 'completed' ? seconds(ended_at) : null,
    usage: how === 'cut' ? null : counted,
    ...(status === 'incomplete' && {
      incomplete_details: { reason: finish_reason === 'length' ? 'max_output_tokens' : 'content_filter' },
    }),
    ...(status === 'failed' && { error: { code: 'server_error', message: 'The step was cut off.' } }),
  }
}

const seconds = (at: string): number => Math.floor((Date.parse(at) || 0) / 1000)

const toOutputItem = ({ call_id, item_id, output }: TracedCall): JsonObject => ({
  type: 'function_call_output',
  id: `${item_id}:output`,
  call_id,
  output: output ?? 'The call was interrupted.',
  status: output === undefined ? 'incomplete' : 'completed',
})

const toOwnItem = ({ item_id, command, tool, output = '', exit_code, status }: TracedCall): JsonObject => ({
  type: 'vtcode:command_execution',
  id: item_id,
  status,
  command: command ?? tool,
  output,
  exit_code: exit_code ?? null,
})

/** Lists the effects of a call as items of our types. */
function listExtensionItems(call: TracedCall): JsonObject[] {
  const { item_id, command, changes, error_code, output = '', status } = call
  return [
    ...(command === undefined ? [] : [{ ...toOwnItem(call), id: `${item_id}:command` }]),
    ...(changes
      ? [{ type: 'vtcode:file_change', id: `${item_id}:files`, status, changes } as unknown as JsonObject]
      : []),
    ...(error_code === undefined
      ? []
      : [{ type: 'vtcode:error', id: `${item_id}:error`, status, name: error_code, text: output }]),
  ]
}

const toEnd = ({ outcome_code, subtype, verified, result }: TracedEnd): JsonObject => ({
  outcome_code,
  subtype,
  verified,
  result: result ?? null,
})
