import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Format } from './peer.js'

/** A server of one wire that answers "ok" and keeps what it was sent; with `encrypted` its answers hold such reasoning, with `cut` they end at their length. */
export interface WireServer extends AsyncDisposable {
  readonly url: string
  readonly bodies: any[]
}
interface Answering {
  encrypted?: string
  cut?: true
}
const event = (value: any): string => `${value.type ? `event: ${value.type}\n` : ''}data: ${JSON.stringify(value)}\n\n`

function answerOf(format: Format, { encrypted, cut }: Answering): string {
  if (format === 'openai-chat')
    return `${event({ id: 'c', choices: [{ index: 0, delta: { role: 'assistant', content: 'ok' } }] })}${event({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } })}data: [DONE]\n\n`
  if (format === 'google-generative-ai')
    return event({
      candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
    })
  if (format === 'anthropic-messages') {
    return [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: 3, output_tokens: 0 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]
      .map(event)
      .join('')
  }
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: encrypted }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'ok', annotations: [] }],
  }
  const response = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    output: [],
    usage: {
      input_tokens: 3,
      output_tokens: 1,
      total_tokens: 4,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...(encrypted === undefined
      ? []
      : [
          { type: 'response.output_item.added', output_index: 0, item: reasoning },
          { type: 'response.output_item.done', output_index: 0, item: reasoning },
        ]),
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'ok' },
    { type: 'response.output_item.done', output_index: 1, item: message },
    cut
      ? {
          type: 'response.incomplete',
          response: { ...response, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
        }
      : { type: 'response.completed', response },
  ]
    .map(event)
    .join('')
}

export async function startServer(format: Format, answering: Answering = {}): Promise<WireServer> {
  const bodies: any[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk: Buffer) => (text += String(chunk)))
    request.on('end', () => {
      bodies.push(JSON.parse(text))
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answerOf(format, answering))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
