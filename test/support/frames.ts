import type { Format } from './peer.js'

/** What one answer holds, to be said on a wire byte by byte. */
export interface Said {
  /** With a note that only its own server can read, where the wire has such notes. */
  reasoning?: string
  text?: string
  call?: { name: string; arguments: string }
  /** Tokens: of the input those that were cached are a part. */
  usage?: { input: number; cached: number; output: number }
}
type Finish = 'stop' | 'tools' | 'length'
/** The bytes of an answer up to its end, and of its end. */
export interface Frames {
  body: string
  end: string
}
const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`
const named = (event: { type: string } & Record<string, unknown>): string => `event: ${event.type}\n${data(event)}`
const nothing = { input: 1, cached: 0, output: 1 }

function chat({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const choice = (delta: object, finish_reason: string | null = null) => data({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })
  const { input, cached, output } = usage ?? nothing
  return {
    body: [
      reasoning === undefined ? '' : choice({ reasoning_content: reasoning }),
      text === undefined ? '' : choice({ content: text }),
      call === undefined ? '' : choice({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }),
    ].join(''),
    end:
      choice({}, { stop: 'stop', tools: 'tool_calls', length: 'length' }[finish]) +
      data({ id: 'x', choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output, prompt_tokens_details: { cached_tokens: cached } } }) +
      'data: [DONE]\n\n',
  }
}

function responses({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const response = { id: 'r', object: 'response', created_at: 1, model: 'm', output: [] }
  const status = finish === 'length' ? 'incomplete' : 'completed'
  const item = (event: string, output_index: number, what: object) => data({ type: `response.output_item.${event}`, output_index, item: what })
  const { input, cached, output } = usage ?? nothing
  const thought = { id: 'rs_1', type: 'reasoning', encrypted_content: 'note-of-this-server', summary: [] }
  const called = call && { id: 'fc_1', type: 'function_call', call_id: 'call_1', ...call, status }
  return {
    body: [
      data({ type: 'response.created', response }),
      reasoning === undefined ? '' : item('added', 0, thought) + data({ type: 'response.reasoning_summary_part.added', item_id: 'rs_1', summary_index: 0 }) + data({ type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', summary_index: 0, delta: reasoning }) + item('done', 0, thought),
      text === undefined ? '' : item('added', 1, { id: 'msg_1', type: 'message' }) + data({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: text }) + item('done', 1, { id: 'msg_1', type: 'message' }),
      called === undefined ? '' : item('added', 2, { ...called, arguments: '' }) + data({ type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: called.arguments }) + item('done', 2, called),
    ].join(''),
    end: data({
      type: `response.${status}`,
      response: { ...response, incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null, usage: { input_tokens: input, input_tokens_details: { cached_tokens: cached }, output_tokens: output, output_tokens_details: { reasoning_tokens: 0 } } },
    }),
  }
}

function messages({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const { input, cached, output } = usage ?? nothing
  const block = (index: number, content_block: object, ...deltas: object[]) =>
    [{ type: 'content_block_start', index, content_block }, ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })), { type: 'content_block_stop', index }].map(named).join('')
  return {
    body: [
      named({ type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 } } }),
      reasoning === undefined ? '' : block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: reasoning }, { type: 'signature_delta', signature: 'note-of-this-server' }),
      text === undefined ? '' : block(1, { type: 'text', text: '' }, { type: 'text_delta', text }),
      call === undefined ? '' : block(2, { type: 'tool_use', id: 'toolu_1', name: call.name, input: {} }, { type: 'input_json_delta', partial_json: call.arguments }),
    ].join(''),
    end: named({ type: 'message_delta', delta: { stop_reason: { stop: 'end_turn', tools: 'tool_use', length: 'max_tokens' }[finish] }, usage: { output_tokens: output } }) + named({ type: 'message_stop' }),
  }
}

/** The wires of OpenAI and of Anthropic. */
export const wires = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const satisfies Format[]
export type Wire = (typeof wires)[number]

/** One answer on a wire. */
export const framesOf = (wire: Wire, said: Said, finish: Finish = said.call ? 'tools' : 'stop'): Frames => ({ 'openai-chat': chat, 'openai-responses': responses, 'anthropic-messages': messages })[wire](said, finish)
export const wholeOf = (wire: Wire, said: Said, finish?: Finish): string => Object.values(framesOf(wire, said, finish)).join('')
