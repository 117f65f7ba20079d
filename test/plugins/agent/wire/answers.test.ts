import { describe, expect, it } from 'vitest'
import { containsCallAsText, repairAnswer, splitThoughts } from '../../../../build/plugins/agent/wire/index.js'
import { harness, hold, items, scene } from '../../../support/inside.js'
import { checkLog } from '../../../support/invariants.js'
import { call } from '../../../support/peer.js'
import { fc } from '../../../support/property.js'
import { serve } from '../../../support/server.js'

const data = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const chunk = (delta: object, finish_reason: string | null = null): string =>
  data({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  })
const said = (content: string, end = 'stop'): string =>
  chunk({ role: 'assistant', content }) + chunk({}, end) + data('[DONE]')

interface Served {
  body: string
  type?: string
}
/** A conversation with a server that gives these answers, each with status 200, and repeats the last one. */
async function against(format: string, ...answers: Served[]) {
  const server = hold(
    await serve((_, response) => {
      const { body, type = 'text/event-stream' } = answers.length > 1 ? answers.shift()! : answers[0]!
      response.writeHead(200, { 'content-type': type }).end(body)
    }),
  )
  const provider = { retries: { request: 0, stream: 1 } }
  return { server, s: await scene([], { url: server.url, format: format as never, provider }) }
}

describe('an answer that the server ended because it broke', () => {
  it.each(['error', 'network_error', 'abort', 'insufficient_system_resource', 'model_context_window_exceeded'])(
    'requests an answer again that broke with the reason %s, and fails in the end',
    async (reason) => {
      const { server, s } = await against('openai-chat', { body: said('I begin', reason) })
      expect(await s.run()).toMatchObject({
        outcome_code: 'failed',
        error: { code: 'VT_LLM_CUT', message: expect.stringContaining(`'${reason}'`) },
      })
      expect(server.seen).toHaveLength(2)
      checkLog(s.events)
    },
  )

  it.each([
    [{ status: 'failed', error: { code: 'server_error', message: 'bad' } }, 'VT_LLM_REQUEST', /bad/],
    [{ status: 'cancelled' }, 'VT_LLM_CUT', /the response is cancelled/],
    [{ status: 'incomplete', incomplete_details: null }, 'VT_LLM_CUT', /the response is incomplete/],
    [{ status: 'in_progress' }, 'VT_LLM_CUT', /the response is in_progress/],
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'VT_LLM_LENGTH', /length limit/],
  ])('finds a broken response by its status: %j', async (response, code, words) => {
    const { s } = await against('openai-responses', {
      body:
        data({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta: 'I begin' }) +
        data({ type: 'response.completed', response }),
    })
    expect(await s.run()).toMatchObject({ error: { code, message: expect.stringMatching(words) } })
    checkLog(s.events)
  })
})

describe('an error within an answer with status 200', () => {
  it.each<[string, Served, string, RegExp]>([
    [
      'a document',
      { body: JSON.stringify({ error: { message: 'No models loaded.' } }), type: 'application/json' },
      'VT_LLM_REQUEST',
      /No models loaded/,
    ],
    [
      'a text in a stream',
      { body: data({ error: 'model requires more memory' }) },
      'VT_LLM_REQUEST',
      /model requires more memory/,
    ],
    [
      'a number in a stream',
      { body: data({ error: { code: 401, message: 'User not found.' } }) },
      'VT_LLM_AUTH',
      /User not found/,
    ],
    [
      'an error with choices',
      { body: data({ error: { code: 429, message: 'Rate limit' }, choices: [{ index: 0, delta: {} }] }) },
      'VT_LLM_RATE_LIMIT',
      /Rate limit/,
    ],
  ])('reports an error as that of the request, within %s', async (_, served, code, words) => {
    const { s } = await against('openai-chat', served)
    expect(await s.run()).toMatchObject({ error: { code, message: expect.stringMatching(words) } })
    checkLog(s.events)
  })

  it('reads a whole completion instead of a stream, with its calls', async () => {
    const completion = (message: object, finish_reason: string): Served => ({
      type: 'application/json; charset=utf-8',
      body: JSON.stringify({
        id: 'c',
        created: 1,
        model: 'm',
        choices: [{ index: 0, message, finish_reason }],
        usage: null,
      }),
    })
    const { name, arguments: text } = call('unified_search', { action: 'list' })
    const tool_calls = [{ id: 'call_1', type: 'function', function: { name, arguments: text } }]
    const { s } = await against(
      'openai-chat',
      completion({ role: 'assistant', content: null, tool_calls }, 'tool_calls'),
      completion({ role: 'assistant', content: 'Hello.' }, 'stop'),
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Hello.' })
    expect(items(s.events, 'tool_output')).toHaveLength(1)
    checkLog(s.events)
  })

  it('reads a stream alike, however it is cut into pieces', async () => {
    const whole = Buffer.from(`: comment\n\n${said('héllo')}`)
    const readAll = async (borders: number[]): Promise<string> => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const [at, end] of borders.slice(1).entries()) controller.enqueue(whole.subarray(borders[at], end))
          controller.close()
        },
      })
      const given = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      return repairAnswer(given, 'openai-chat', 'http://127.0.0.1/v1/chat/completions', '{"stream":true}').text()
    }
    const expected = await readAll([0, whole.length])
    expect(expected).toContain('héllo')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: whole.length }), { maxLength: 6 }), async (cuts) => {
        expect(await readAll([0, ...cuts.sort((a, b) => a - b), whole.length])).toBe(expected)
      }),
    )
  })

  it('ends at the mark of the end, although the server keeps the connection open', async () => {
    const server = hold(
      await serve((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(said('Hello.'))
      }),
    )
    const s = await scene([], { url: server.url })
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Hello.' })
  })
})

describe('a call as text', () => {
  it.each([
    ['<tool_call>{"name":"unified_search"}</tool_call>', true],
    ['I do <tool_call>x</tool_call>', true],
    ['<function=unified_search>', true],
    ['```xml\n<tool_call>{"name":"a"}</tool_call>\n```\nThat is the form.', false],
    ['The mark `<function=name>` begins a call.', false],
    ['~~~\n<invoke name="a">\n~~~', false],
    ['A <tool_call> is a mark of some models.', false],
  ])('finds calls in a text by their structure: %j', (text, isCall) => {
    expect(containsCallAsText(text)).toBe(isCall)
  })

  // A guard against hanging: models repeat themselves, and such a text took minutes.
  it.each(['<', '`', '~', '\n', '<tool_call', '<tool_call>', '``` `'])('reads an answer that repeats %j', (mark) => {
    const text = `<\n${mark.repeat(200_000)}`
    expect(containsCallAsText(text)).toBe(false)
    expect(splitThoughts(text)).toBeUndefined()
  })
})

describe('fields that a server wants back', () => {
  it('returns the reasoning details of OpenRouter with the next request, joined and unchanged', async () => {
    const { name, arguments: text } = call('unified_search', { action: 'list' })
    const list = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: text } }] }
    const details = (...pieces: object[]) => chunk({ reasoning: 'I list.', reasoning_details: pieces })
    const { server, s } = await against(
      'openai-chat',
      {
        body:
          details({ type: 'reasoning.text', text: 'I ', index: 0 }) +
          details({ type: 'reasoning.text', text: 'list.', signature: 'S', index: 0 }) +
          details({ type: 'reasoning.encrypted', data: 'D', id: 'call_1', index: 1 }) +
          chunk(list) +
          chunk({}, 'tool_calls') +
          data('[DONE]'),
      },
      { body: said('Hello.') },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Hello.' })
    const message = JSON.parse(server.seen[1]!.body).messages.find(({ role }: any) => role === 'assistant')
    expect(message.reasoning_details).toEqual([
      { type: 'reasoning.text', text: 'I list.', signature: 'S', index: 0 },
      { type: 'reasoning.encrypted', data: 'D', id: 'call_1', index: 1 },
    ])
    expect(message).not.toHaveProperty('reasoning_content')
    checkLog(s.events)
  })
})

describe('a call that is cut at the length limit each time', () => {
  it('ends the turn after three answers', async () => {
    const cut = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'unified_file', arguments: '{"path":"a' },
    }
    const { server, s } = await against('openai-chat', {
      body: chunk({ tool_calls: [cut] }) + chunk({}, 'length') + data('[DONE]'),
    })
    expect(await s.run()).toMatchObject({
      error: { code: 'VT_LLM_LENGTH', message: expect.stringContaining('3 times') },
    })
    expect(server.seen).toHaveLength(3)
    checkLog(s.events)
  })
})

describe('a limit of requests', () => {
  const limited = (message: string, headers = {}) => ({ status: 429, headers, body: { error: { message } } })
  /** A conversation with a server that refuses with each answer in order, and then says hello. */
  async function refusing(refusals: ReturnType<typeof limited>[], provider: object = { retries: {} }) {
    const server = hold(
      await serve((_, response) => {
        const refusal = refusals.shift()
        if (!refusal) return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(said('Hello.'))
        response.writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers })
        return response.end(JSON.stringify(refusal.body))
      }),
    )
    return { server, s: await scene([], { url: server.url, provider }) }
  }

  it('waits over an hour for a server that names no time, up to 10 minutes each', async () => {
    const { server, s } = await refusing(Array.from({ length: 16 }, () => limited('Slow down.')))
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Hello.' })
    expect(s.waits).toHaveLength(16)
    expect(Math.max(...s.waits)).toBeLessThanOrEqual(600_000)
    expect(s.waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(2_400_000)
    expect(new Set(server.seen.map(({ body }) => body)).size).toBe(1)
    expect(harness(s.events, 'model_retry')).toHaveLength(16)
    checkLog(s.events)
  })

  it.each([
    ['Please try again in 3.2s.', 3200],
    ['Please try again in 1m3.5s.', 63_500],
    ['Please retry after 20 seconds.', 20_000],
    ['Try again in 250ms', 250],
    ['Details: {"retryDelay": "32s"}', 32_000],
  ])('waits as long as the words say: %s', async (words, wait) => {
    const { s } = await refusing([limited(words)])
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    expect(s.waits).toEqual([wait])
  })

  it('reports when to try again, where the wait is too long', async () => {
    const { s } = await refusing([limited('usage limit', { 'retry-after': '1200' })])
    expect(await s.run()).toMatchObject({
      error: { code: 'VT_LLM_RATE_LIMIT', message: expect.stringMatching(/wait of 20 minutes, until \d{4}-.* UTC/) },
    })
    expect(s.waits).toEqual([])
  })

  it('reports a wait whose end is no date as one of a year', async () => {
    const { s } = await refusing([limited('Try again in 999999999999999999 days.')])
    expect(await s.run()).toMatchObject({
      error: { code: 'VT_LLM_RATE_LIMIT', message: expect.stringContaining('wait of 525600 minutes') },
    })
    expect(s.waits).toEqual([])
  })

  // A guard against hanging: a text of this length took minutes when each of its words was read to the end.
  it('reads a refusal that repeats one word a thousand times over', async () => {
    const { s } = await refusing([limited(`${'retry'.repeat(20_000)} in 3s`), limited('Slow down...')])
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    expect(s.waits[0]).toBe(3000)
  })

  it('ends after the number of retries that the settings name', async () => {
    const { server, s } = await refusing(
      Array.from({ length: 9 }, () => limited('Slow down.')),
      { retries: { request: 2 } },
    )
    expect(await s.run()).toMatchObject({ error: { code: 'VT_LLM_RATE_LIMIT' } })
    expect(server.seen).toHaveLength(3)
  })
})

describe('thoughts within a text', () => {
  it.each<[string, { thoughts: string; text: string } | undefined]>([
    ['<think>\nplan\n</think>\n\nHello.', { thoughts: 'plan', text: 'Hello.' }],
    ['\n<thinking>plan</thinking>Hello.', { thoughts: 'plan', text: 'Hello.' }],
    ['plan\n</think>\n\nHello.', { thoughts: 'plan', text: 'Hello.' }],
    ['<think>\nplan without an end', { thoughts: 'plan without an end', text: '' }],
    ['Hello.', undefined],
    ['The tag `</think>` ends thoughts, and <think> begins them.', undefined],
  ])('separates thoughts from the answer: %j', (text, parts) => {
    expect(splitThoughts(text)).toEqual(parts)
  })

  it('keeps thoughts out of the outcome and of the next request', async () => {
    const { name, arguments: text } = call('unified_search', { action: 'list' })
    const list = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: text } }] }
    const { server, s } = await against(
      'openai-chat',
      {
        body:
          chunk({ role: 'assistant', content: '<think>\nsecret plan\n</think>\n\nI list.' }) +
          chunk(list) +
          chunk({}, 'tool_calls') +
          data('[DONE]'),
      },
      { body: said('They want a greeting.\n</think>\n\nHello.') },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Hello.' })
    const { messages } = JSON.parse(server.seen[1]!.body)
    expect(messages.find(({ role }: any) => role === 'assistant').content).toBe('I list.')
    checkLog(s.events)
  })
})
