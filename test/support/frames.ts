import type { Format } from './peer.js'

/** The parts of one answer, written to a wire byte by byte; a list comes in so many pieces. */
export interface Said {
  /** With a note that only its own server can read, where the wire has such notes. */
  reasoning?: string | string[]
  text?: string | string[]
  call?: { name: string; arguments: string | string[] }
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
const pieces = (text: string | string[] | undefined): string[] => (text === undefined ? [] : [text].flat())

function chat({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const choice = (delta: object, finish_reason: string | null = null) =>
    data({
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    })
  const { input, cached, output } = usage ?? nothing
  return {
    body: [
      ...pieces(reasoning).map((reasoning_content) => choice({ reasoning_content })),
      ...pieces(text).map((content) => choice({ content })),
      ...pieces(call?.arguments).map((part, index) =>
        choice({
          tool_calls: [
            {
              index: 0,
              ...(index === 0 && { id: 'call_1', type: 'function' }),
              function: { ...(index === 0 && { name: call!.name }), arguments: part },
            },
          ],
        }),
      ),
    ].join(''),
    end:
      choice({}, { stop: 'stop', tools: 'tool_calls', length: 'length' }[finish]) +
      data({
        id: 'x',
        choices: [],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      }) +
      'data: [DONE]\n\n',
  }
}

function responses({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const response = { id: 'r', object: 'response', created_at: 1, model: 'm', output: [] }
  const status = finish === 'length' ? 'incomplete' : 'completed'
  const item = (event: string, output_index: number, what: object) =>
    data({ type: `response.output_item.${event}`, output_index, item: what })
  const { input, cached, output } = usage ?? nothing
  const thought = { id: 'rs_1', type: 'reasoning', encrypted_content: 'note-of-this-server', summary: [] }
  const called = call && {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_1',
    ...call,
    arguments: pieces(call.arguments).join(''),
    status,
  }
  return {
    body: [
      data({ type: 'response.created', response }),
      reasoning === undefined
        ? ''
        : item('added', 0, thought) +
          data({ type: 'response.reasoning_summary_part.added', item_id: 'rs_1', summary_index: 0 }) +
          pieces(reasoning)
            .map((delta) =>
              data({ type: 'response.reasoning_summary_text.delta', item_id: 'rs_1', summary_index: 0, delta }),
            )
            .join('') +
          item('done', 0, thought),
      text === undefined
        ? ''
        : item('added', 1, { id: 'msg_1', type: 'message' }) +
          pieces(text)
            .map((delta) =>
              data({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta }),
            )
            .join('') +
          item('done', 1, { id: 'msg_1', type: 'message' }),
      called === undefined
        ? ''
        : item('added', 2, { ...called, arguments: '' }) +
          pieces(call!.arguments)
            .map((delta) =>
              data({ type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta }),
            )
            .join('') +
          item('done', 2, called),
    ].join(''),
    end: data({
      type: `response.${status}`,
      response: {
        ...response,
        incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
        usage: {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: 0 },
        },
      },
    }),
  }
}

function messages({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const { input, cached, output } = usage ?? nothing
  const block = (index: number, content_block: object, deltas: object[]) =>
    [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]
      .map(named)
      .join('')
  return {
    body: [
      named({
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 },
        },
      }),
      reasoning === undefined
        ? ''
        : block(0, { type: 'thinking', thinking: '' }, [
            ...pieces(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
            { type: 'signature_delta', signature: 'note-of-this-server' },
          ]),
      text === undefined
        ? ''
        : block(
            1,
            { type: 'text', text: '' },
            pieces(text).map((one) => ({ type: 'text_delta', text: one })),
          ),
      call === undefined
        ? ''
        : block(
            2,
            { type: 'tool_use', id: 'toolu_1', name: call.name, input: {} },
            pieces(call.arguments).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
          ),
    ].join(''),
    end:
      named({
        type: 'message_delta',
        delta: { stop_reason: { stop: 'end_turn', tools: 'tool_use', length: 'max_tokens' }[finish] },
        usage: { output_tokens: output },
      }) + named({ type: 'message_stop' }),
  }
}

function google({ reasoning, text, call, usage }: Said, finish: Finish): Frames {
  const { input, output } = usage ?? nothing
  const parts = (...said: object[]) => data({ candidates: [{ content: { role: 'model', parts: said }, index: 0 }] })
  return {
    body: [
      ...pieces(reasoning).map((one) => parts({ text: one, thought: true })),
      ...pieces(text).map((one) => parts({ text: one })),
      call === undefined
        ? ''
        : parts({ functionCall: { name: call.name, args: JSON.parse(pieces(call.arguments).join('')) } }),
    ].join(''),
    end: data({
      candidates: [
        { content: { role: 'model', parts: [] }, finishReason: finish === 'length' ? 'MAX_TOKENS' : 'STOP', index: 0 },
      ],
      usageMetadata: { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output },
    }),
  }
}

/** The wires of OpenAI and of Anthropic. */
export const wires = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const satisfies Format[]
export type Wire = (typeof wires)[number]

/** One answer on a wire. */
export const framesOf = (wire: Format, said: Said, finish: Finish = said.call ? 'tools' : 'stop'): Frames =>
  ({
    'openai-chat': chat,
    'openai-responses': responses,
    'anthropic-messages': messages,
    'google-generative-ai': google,
  })[wire](said, finish)
export const wholeOf = (wire: Format, said: Said, finish?: Finish): string =>
  Object.values(framesOf(wire, said, finish)).join('')
