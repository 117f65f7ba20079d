/** The events of a small answer on each wire, as a server sends them, for rows that change one detail. */
import type { Format } from './peer.js'

type Event = Record<string, unknown>
export interface Wire {
  text(text: string): Event[]
  call(name: string, args: string, id?: unknown): Event[]
  end(reason?: string): Event[]
  usage(input: number, output: number): Event[]
  /** An error within a stream, in the shape of the wire. */
  error(message: string, status: number): Event
  /** A whole answer as one document. */
  whole(text: string): unknown
  /** Reasons for an end: a plain one, one with calls, and the length limit. */
  reasons: { stop: string; calls: string; length: string }
  done: string
}

const choice = (delta: Event, finish_reason: string | null = null): Event => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason }],
})
const chat: Wire = {
  text: (content) => [choice({ role: 'assistant', content })],
  call: (name, args, id = 'call_1') => [
    choice({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: args } }] }),
  ],
  end: (reason = 'stop') => [choice({}, reason)],
  usage: (prompt_tokens, completion_tokens) => [{ choices: [], usage: { prompt_tokens, completion_tokens } }],
  error: (message, code) => ({ error: { message, code } }),
  whole: (content) => ({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }),
  reasons: { stop: 'stop', calls: 'tool_calls', length: 'length' },
  done: 'data: [DONE]\n\n',
}

const responses: Wire = {
  text: (delta) => [
    { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm1' } },
    { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, delta },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'message', id: 'm1', content: [{ type: 'output_text', text: delta }] },
    },
  ],
  call: (name, args, id = 'call_1') => {
    const item = { type: 'function_call', id: 'f1', call_id: id, name, arguments: '' }
    return [
      { type: 'response.output_item.added', output_index: 1, item },
      { type: 'response.function_call_arguments.delta', item_id: 'f1', output_index: 1, delta: args },
      { type: 'response.output_item.done', output_index: 1, item: { ...item, arguments: args, status: 'completed' } },
    ]
  },
  end: (reason = 'completed') =>
    reason === 'completed'
      ? [{ type: 'response.completed', response: { status: 'completed' } }]
      : [{ type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason } } }],
  usage: (input_tokens, output_tokens) => [
    { type: 'response.completed', response: { status: 'completed', usage: { input_tokens, output_tokens } } },
  ],
  error: (message, code) => ({ type: 'error', message, code: String(code), sequence_number: 1 }),
  whole: (text) => ({
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', id: 'm1', content: [{ type: 'output_text', text }] }],
  }),
  reasons: { stop: 'completed', calls: 'completed', length: 'max_output_tokens' },
  done: '',
}

const anthropic: Wire = {
  text: (text) => [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7, output_tokens: 0 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
  ],
  call: (name, args, id = 'toolu_1') => [
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id, name, input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: args } },
    { type: 'content_block_stop', index: 1 },
  ],
  end: (stop_reason = 'end_turn') => [
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ],
  usage: (input_tokens, output_tokens) => [
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens, output_tokens } },
    { type: 'message_stop' },
  ],
  error: (message, status) => ({
    type: 'error',
    error: {
      type: status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'api_error',
      message,
    },
  }),
  whole: (text) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 7, output_tokens: 3 },
  }),
  reasons: { stop: 'end_turn', calls: 'tool_use', length: 'max_tokens' },
  done: '',
}

const candidate = (parts: Event[], finishReason?: string): Event => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
})
const gemini: Wire = {
  text: (text) => [candidate([{ text }])],
  call: (name, args) => [candidate([{ functionCall: { name, args: JSON.parse(args) } }])],
  end: (reason = 'STOP') => [candidate([], reason)],
  usage: (promptTokenCount, candidatesTokenCount) => [
    { ...candidate([], 'STOP'), usageMetadata: { promptTokenCount, candidatesTokenCount } },
  ],
  error: (message, code) => ({ error: { code, message, status: 'ERROR' } }),
  whole: (text) => [candidate([{ text }], 'STOP')],
  reasons: { stop: 'STOP', calls: 'STOP', length: 'MAX_TOKENS' },
  done: '',
}

export const wires: Record<Format, Wire> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': anthropic,
  'google-generative-ai': gemini,
}

/** Formats events as the body of a stream. */
export const stream = (events: unknown[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
