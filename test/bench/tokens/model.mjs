// A server that plays a model's by a script, over the four wires; it keeps every request as it came.
import { createServer } from 'node:http'
import { once } from 'node:events'

/** What came of one request: its body, the texts that tools answered since the last one, whether there was a picture. */
export const wires = {
  chat: {
    at: /\/chat\/completions$/,
    results: ({ messages = [] }) =>
      since(messages, ({ role }) => role === 'assistant')
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => textIn(content)),
  },
  responses: {
    at: /\/responses$/,
    results: ({ input = [] }) =>
      since(input, ({ type }) => /^(function|custom_tool)_call$/.test(type))
        .filter(({ type }) => type?.endsWith('_call_output'))
        .map(({ output }) => textIn(output)),
  },
  messages: {
    at: /\/messages$/,
    results: ({ messages = [] }) =>
      since(messages, ({ role }) => role === 'assistant')
        .flatMap(({ content }) => [content].flat())
        .filter(({ type }) => type === 'tool_result')
        .map(({ content }) => textIn(content)),
  },
  gemini: {
    at: /:(?:streamG|g)enerateContent/,
    results: ({ contents = [] }) =>
      since(contents, ({ role }) => role === 'model')
        .flatMap(({ parts = [] }) => parts)
        .flatMap(({ functionResponse }) => (functionResponse ? [textIn(functionResponse.response)] : [])),
  },
}

export const summary = 'Summary: the files were read one after the other; go on with the next one.'
const tooLong = (tokens, window) => {
  const message = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens (prompt is too long).`
  return JSON.stringify({
    error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
  })
}
const since = (list, own) => list.slice(list.findLastIndex(own) + 1)
/** Every text in a value, as a reader of it sees them. */
export const textIn = (value) =>
  typeof value === 'string'
    ? value
    : typeof value === 'object' && value !== null
      ? Object.values(value).map(textIn).join('\n')
      : ''
export const hasTools = (body) => [body.tools ?? []].flat().length > 0
/** Asked for text, whatever tools there are: by a word of the wire, or in so many words. */
const mayCall = (body) =>
  hasTools(body) &&
  body.tool_choice !== 'none' &&
  body.toolConfig?.functionCallingConfig?.mode !== 'NONE' &&
  !forText.test(textIn((body.messages ?? body.input ?? body.contents ?? []).at(-1)))
const forText = /JSON object that fits|No more calls are possible/

/**
 * `steps`: calls, or a function of what was seen so far to calls; after them the model says that it is done. A request over the `window`
 * is refused as its provider would; one that asks for text is answered by a summary, as JSON where that is asked for.
 */
export async function startModel() {
  const state = { steps: [], at: 0, requests: [], seen: [], window: Infinity }
  const server = createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const [wire] = Object.entries(wires).find(([, { at }]) => at.test(request.url.split('?')[0])) ?? []
      if (!wire || request.method !== 'POST')
        return response
          .writeHead(request.method === 'GET' ? 200 : 404, { 'content-type': 'application/json' })
          .end('{"data":[],"models":[]}')
      const body = JSON.parse(text)
      const results = wires[wire].results(body)
      state.requests.push({ wire, text, body, results })
      state.seen.push(...results)
      const tokens = Math.ceil(text.length / 4)
      if (tokens > state.window)
        return response.writeHead(400, { 'content-type': 'application/json' }).end(tooLong(tokens, state.window))
      const step = mayCall(body) ? state.steps[state.at++] : undefined
      const calls = typeof step === 'function' ? step(state.seen.join('\n')) : (step ?? [])
      const said = mayCall(body)
        ? 'Done.'
        : /JSON object that fits/.test(text)
          ? JSON.stringify({ goal: summary })
          : summary
      answers[wire](
        response,
        calls.map((call, index) => ({ id: `call_${state.requests.length}_${index}`, ...call })),
        said,
        tokens,
        request.url,
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    state,
    begin: (steps, window = Infinity) => Object.assign(state, { steps, at: 0, requests: [], seen: [], window }),
    continueWith: (steps) => Object.assign(state, { steps, at: 0 }),
    close: () => (server.closeAllConnections(), server.close()),
  }
}

const event = (data, name) => `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const stream = (response, text) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)

const answers = {
  chat(response, calls, said, tokens) {
    const chunk = (delta, finish_reason = null, more = {}) =>
      event({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason }],
        ...more,
      })
    const usage = { usage: { prompt_tokens: tokens, completion_tokens: 10, total_tokens: tokens + 10 } }
    const delta =
      calls.length > 0
        ? {
            role: 'assistant',
            tool_calls: calls.map(({ id, name, input }, index) => ({
              index,
              id,
              type: 'function',
              function: { name, arguments: JSON.stringify(input) },
            })),
          }
        : { role: 'assistant', content: said }
    stream(response, `${chunk(delta)}${chunk({}, calls.length > 0 ? 'tool_calls' : 'stop', usage)}data: [DONE]\n\n`)
  },
  responses(response, calls, said, tokens) {
    const item = ({ id, name, namespace, input }) =>
      typeof input === 'string'
        ? { type: 'custom_tool_call', id: `i${id}`, call_id: id, name, input, status: 'completed' }
        : {
            type: 'function_call',
            id: `i${id}`,
            call_id: id,
            name,
            namespace,
            arguments: JSON.stringify(input),
            status: 'completed',
          }
    const output =
      calls.length > 0
        ? calls.map(item)
        : [
            {
              type: 'message',
              id: 'm1',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: said, annotations: [] }],
            },
          ]
    const usage = {
      input_tokens: tokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens + 10,
    }
    const events = [
      { type: 'response.created', response: { id: 'r', created_at: 1, model: 'm' } },
      ...output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item },
        ...(item.content
          ? [{ type: 'response.output_text.delta', item_id: item.id, output_index, content_index: 0, delta: said }]
          : []),
        { type: 'response.output_item.done', output_index, item },
      ]),
      {
        type: 'response.completed',
        response: { id: 'r', created_at: 1, model: 'm', status: 'completed', output, usage },
      },
    ]
    stream(response, events.map((one) => event(one, one.type)).join(''))
  },
  messages(response, calls, said, tokens) {
    const blocks =
      calls.length > 0
        ? calls.map(({ id, name, input }) => [
            { type: 'tool_use', id, name, input: {} },
            { type: 'input_json_delta', partial_json: JSON.stringify(input) },
          ])
        : [
            [
              { type: 'text', text: '' },
              { type: 'text_delta', text: said },
            ],
          ]
    const events = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          usage: { input_tokens: tokens, output_tokens: 1 },
        },
      },
      ...blocks.flatMap(([content_block, delta], index) => [
        { type: 'content_block_start', index, content_block },
        { type: 'content_block_delta', index, delta },
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' },
        usage: { output_tokens: 10 },
      },
      { type: 'message_stop' },
    ]
    stream(response, events.map((one) => event(one, one.type)).join(''))
  },
  gemini(response, calls, said, tokens, url) {
    const parts =
      calls.length > 0 ? calls.map(({ name, input }) => ({ functionCall: { name, args: input } })) : [{ text: said }]
    const answer = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 10, totalTokenCount: tokens + 10 },
      modelVersion: 'm',
    }
    if (url.includes('streamGenerateContent')) stream(response, event(answer))
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  },
}
