import { describe, expect, it } from 'vitest'
import { serve } from '../../../support/server.js'
import { harness, hold, items, scene } from '../../../support/inside.js'
import { checkLog } from '../../../support/invariants.js'
import { call, formats, type Answer } from '../../../support/peer.js'
import { wired } from '../../../support/wired.js'

const write = (path: string, content: string) => call('unified_file', { action: 'write', path, content })
/** Returns the tool result from the request that carries it back. */
const toldIn = (body: any): string => JSON.stringify(body.messages?.slice(-1) ?? body.input?.slice(-1))
const paths = {
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  'anthropic-messages': '/v1/messages',
  'google-generative-ai': '/v1beta/models/m:streamGenerateContent?alt=sse',
}

describe.each(formats)('model requests over %s', (format) => {
  it('sends texts and parallel calls and their results in order', async () => {
    const s = await scene(
      [
        { content: 'Looking.', toolCalls: [call('unified_search', { action: 'list' }), write('a.txt', 'x\n')] },
        { content: 'Done.' },
      ],
      { format, boot: { files: { 'b.txt': '' } } },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Done.', exit_code: 0 })
    checkLog(s.events)
    expect(await s.booted.read('a.txt')).toBe('x\n')
    expect(s.peer.asked.map(({ path }) => path)).toEqual(Array(2).fill(paths[format]))
    const sent = JSON.stringify(s.peer.bodies[1])
    expect(sent.indexOf('1 entry')).toBeLessThan(sent.indexOf('created a.txt'))
    expect(items(s.events, 'agent_message').map(({ text, status }) => [text, status])).toEqual([
      ['Looking.', 'completed'],
      ['Done.', 'completed'],
    ])
  })

  it('retries a busy server after the time it names, within one step', async () => {
    const s = await scene(
      [
        { error: { message: 'slow down' }, status: 429, retryAfter: 2 },
        { error: { message: 'overloaded' }, status: 529 },
        { content: 'ok' },
      ],
      { format },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    expect([s.peer.asked.length, s.waits[0], s.waits.length]).toEqual([3, 2000, 2])
    expect(harness(s.events, 'model_retry').map(({ attempt, error_category }) => [attempt, error_category])).toEqual([
      [1, 'http 429'],
      [2, 'http 529'],
    ])
    checkLog(s.events)
  })

  it('repeats a request whose answer is cut and keeps and runs nothing of the cut one', async () => {
    const cut = {
      content: 'half of a long answer '.repeat(20),
      toolCalls: [write('a.txt', 'no\n')],
      how: { chunkSize: 20, truncateAfterChunks: 6 },
    }
    const s = await scene([cut, cut, { content: 'whole' }], { format })
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'whole' })
    expect(s.peer.asked.length).toBe(3)
    expect(JSON.stringify(s.peer.bodies[2])).not.toContain('half of')
    expect(await s.booted.read('a.txt')).toBeUndefined()
    expect(
      items(s.events, 'agent_message')
        .map(({ status }) => status)
        .at(-1),
    ).toBe('completed')
    expect(
      items(s.events, 'agent_message')
        .slice(0, -1)
        .every(({ status }) => status === 'discarded'),
    ).toBe(true)
    checkLog(s.events)
    const often = await scene([cut, cut, cut], { format })
    expect(await often.run()).toMatchObject({ outcome_code: 'failed', exit_code: 1, error: { code: 'VT_LLM_CUT' } })
    checkLog(often.events)
  })

  it('starts the last answer with the same prefix as before and makes no call of it', async () => {
    const list = { toolCalls: [call('unified_search', { action: 'list' })] }
    const change = { toolCalls: [write('a.txt', 'no\n')] }
    const one = { settings: { agent: { model: 'peer/m' }, tools: { max_tool_loops: 1 } } }
    const s = await wired(format, [list, change, { content: 'That is all.' }], one)
    expect(await s.run()).toMatchObject({
      outcome_code: 'tool_loop_limit_reached',
      text: expect.stringMatching(/^That is all\./),
    })
    const [first, last, again] = s.bodies.map((body) => JSON.parse(body))
    expect(last.tools).toEqual(first.tools)
    // Anthropic's servers drop their cache when that field changes.
    expect(last.tool_choice ?? last.toolConfig?.functionCallingConfig).toEqual(
      {
        'openai-chat': 'none',
        'openai-responses': 'none',
        'anthropic-messages': undefined,
        'google-generative-ai': { mode: 'NONE' },
      }[format],
    )
    expect(again.tools).toBeUndefined()
    expect(await s.booted.read('a.txt')).toBeUndefined()
    checkLog(s.events)
    const refusal = JSON.stringify({
      error: {
        message: 'tool_choice is not supported.',
        type: 'invalid_request_error',
        code: 400,
        status: 'INVALID_ARGUMENT',
      },
    })
    const plain = await wired(format, [list, { content: 'That is all.' }], one, (body) =>
      /No more calls are possible/.test(body) && JSON.parse(body).tools ? refusal : undefined,
    )
    expect(await plain.run()).toMatchObject({
      outcome_code: 'tool_loop_limit_reached',
      text: expect.stringMatching(/^That is all\./),
    })
    expect(plain.bodies.map((body) => JSON.parse(body).tools !== undefined)).toEqual([true, true, false])
    checkLog(plain.events)
    const stubborn = await wired(format, [list, change, change], one)
    expect(await stubborn.run()).toMatchObject({
      outcome_code: 'tool_loop_limit_reached',
      text: 'The remaining work is in .vtcode/tasks/current_blocked.md.',
    })
    expect(stubborn.bodies).toHaveLength(3)
    checkLog(stubborn.events)
  })

  it('waits through an hour of full servers and makes each call once', async () => {
    const answers: Answer[] = [{ toolCalls: [write('a.txt', 'x\n')] }, { content: 'Done.' }]
    // Each half hour of the clock is full but for its first request. The server names a wait of one second each time.
    let [half, next] = [-1, 0]
    const answer = (): Answer => {
      const now = Math.floor(s.waits.reduce((sum, ms) => sum + ms, 0) / 1_800_000)
      if (now === half) return { error: { message: 'Rate limit reached on requests per min.' }, status: 429 }
      half = now
      return answers[next++]!
    }
    const s = await scene(Array(100).fill(answer), { format, provider: { retries: {} } })
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Done.' })
    expect(await s.booted.read('a.txt')).toBe('x\n')
    expect(items(s.events, 'tool_output')).toHaveLength(1)
    expect(Math.max(...s.waits)).toBeLessThanOrEqual(600_000)
    expect(harness(s.events, 'model_retry').map(({ error_category }) => error_category)).toEqual(
      s.waits.map(() => 'http 429'),
    )
    checkLog(s.events)
  })

  it('sends a request with a permanent error once', async () => {
    const cases = [
      [{ error: { message: 'no such field' }, status: 400 }, 'VT_LLM_REQUEST'],
      [{ error: { message: 'who are you' }, status: 401 }, 'VT_LLM_AUTH'],
      [
        {
          error: { message: 'You exceeded your current quota, check your billing', code: 'insufficient_quota' },
          status: 429,
        },
        'VT_LLM_QUOTA',
      ],
      [{ error: { message: "This model's maximum context length is 8192 tokens" }, status: 400 }, 'VT_LLM_CONTEXT'],
      [{ error: { message: 'not for you' }, status: 403 }, 'VT_LLM_AUTH'],
      [{ error: { message: 'no such model' }, status: 404 }, 'VT_LLM_REQUEST'],
      [{ error: { message: 'prompt is too long: 9000 tokens' }, status: 413 }, 'VT_LLM_CONTEXT'],
      [{ error: { message: 'slow' }, status: 429, retryAfter: 3600 }, 'VT_LLM_RATE_LIMIT'],
    ] as const
    const s = await scene(
      cases.map(([answer]) => answer),
      { format },
    )
    for (const [index, [, code]] of cases.entries()) {
      expect((await s.run()).error?.code).toBe(code)
      expect(s.peer.asked.length, code).toBe(index + 1)
    }
  })
})

// The peer's Anthropic half sends only arguments that parse.
it.each(formats.slice(0, 2))('runs no change from cut or invalid JSON arguments over %s', async (format) => {
  const s = await scene(
    [
      { toolCalls: [call('unified_file', '{"action":"write","path":"a.txt","content":"half')], finishReason: 'length' },
      { toolCalls: [call('unified_file', '{"action":"write","path":"a.txt",}')] },
      { toolCalls: [call('unified_search', '{"action":"list",}')] },
      { content: 'ok' },
      { content: 'Nothing was written.' },
    ],
    { format, boot: { files: { 'b.txt': '' } } },
  )
  const outcome = await s.run()
  expect(await s.booted.read('a.txt')).toBeUndefined()
  expect(outcome.outcome_code).toBe('success')
  const told = items(s.events, 'tool_output').map(({ output }) => output)
  expect(told[0]).toMatch(/VT_LLM_CALL_TRUNCATED|VT_LLM_BAD_JSON/)
  expect(told[1]).toContain('VT_LLM_BAD_JSON')
  // Reading calls are repaired by the documented rule.
  expect(told[2]).toContain('1 entry')
  expect(toldIn(s.peer.bodies[3])).toContain('1 entry')
  checkLog(s.events)
})

describe('model answers', () => {
  it('answers each call with a missing or repeated id', async () => {
    const list = (path: string, id: string) => call('unified_search', { action: 'list', path }, id)
    const s = await scene([{ toolCalls: [list('a', 'same'), list('b', 'same'), list('c', '')] }, { content: 'ok' }], {
      boot: { files: { 'a/1': '', 'b/2': '', 'c/3': '' } },
    })
    await s.run()
    const messages = s.peer.bodies[1].messages
    const asked = messages.find(({ role }: any) => role === 'assistant').tool_calls.map(({ id }: any) => id)
    expect(new Set(asked).size).toBe(3)
    expect(
      messages
        .filter(({ role }: any) => role === 'tool')
        .map((message: any) => [message.tool_call_id, message.content]),
    ).toEqual(asked.map((id: string, index: number) => [id, `${'abc'[index]}/${index + 1}\n1 entry`]))
  })
  it('corrects a call written as text twice, then fails the turn', async () => {
    const text = { content: '<tool_call>{"name":"unified_search"}</tool_call>' }
    const s = await scene([text, text, text])
    expect((await s.run()).error?.code).toBe('VT_LLM_PSEUDO_CALL')
    expect(s.peer.asked.length).toBe(3)
    checkLog(s.events)
  })
  it('repeats a request with an empty answer, three attempts in all', async () => {
    const s = await scene([{ content: '' }, { content: '' }, { content: '' }])
    expect((await s.run()).error?.code).toBe('VT_LLM_EMPTY')
    expect(s.peer.asked.length).toBe(3)
  })
  it('ends the turn on a refusal of the model', async () => {
    const s = await scene([{ content: 'I would rather', finishReason: 'content_filter' }])
    expect((await s.run()).error?.code).toBe('VT_LLM_REFUSED')
    checkLog(s.events)
  })
})

describe('unresponsive servers', () => {
  it('gives up a silent server and names the stage', async () => {
    const never = hold(await serve(() => {}))
    const t = await scene([], {
      url: never.url,
      provider: { timeouts: { first_token_ms: 100 }, retries: { stream: 1 } },
    })
    expect((await t.run()).error).toMatchObject({
      code: 'VT_LLM_TIMEOUT',
      message: expect.stringContaining('no first token'),
    })
  })
  it('reports a stopped server as unreachable after the retries', async () => {
    const gone = await serve(() => {})
    await gone[Symbol.asyncDispose]()
    const s = await scene([], { url: gone.url, provider: { retries: { request: 2 } } })
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    expect(s.waits.length).toBe(2)
  })
})

describe('provider settings', () => {
  it('adds headers, query and body of the user and prefers the profile to the list and the entry', async () => {
    const s = await scene([{ content: 'ok' }], {
      provider: {
        headers: { 'x-team': 'tools', 'x-key': { env: 'OF_THE_TEAM' } },
        query: { version: '7' },
        body: { top_p: 0.5, metadata: { a: 1 } },
        max_output_tokens: 1000,
        models: { m: { max_output_tokens: 2000, body: { metadata: { b: 2 } } } },
        profiles: { m: { max_output_tokens: 3000 } },
        compat: { max_tokens_field: 'max_completion_tokens' },
      },
    })
    await s.run('go', { env: { OF_THE_TEAM: 'blue-value' } })
    const [{ headers, path }] = s.peer.asked as any
    expect([headers['x-team'], headers['x-key']]).toEqual(['tools', 'blue-value'])
    await expect(s.run('go', { env: {} })).rejects.toMatchObject({
      code: 'VT_LLM_AUTH',
      message: expect.stringContaining('OF_THE_TEAM'),
    })
    expect(path).toContain('version=7')
    expect(s.peer.bodies[0]).toMatchObject({ max_completion_tokens: 3000, top_p: 0.5, metadata: { a: 1, b: 2 } })
    expect(s.peer.bodies[0]).not.toHaveProperty('max_tokens')
  })
  it('uses any AI SDK package by name if it is installed in the right version', async () => {
    const s = await scene([{ content: 'ok' }], {
      provider: { api_format: 'ai-sdk', package: '@ai-sdk/openai-compatible' },
    })
    expect(await s.run()).toMatchObject({ text: 'ok' })
    expect(s.peer.asked[0]!.path).toBe('/v1/chat/completions')
    for (const [wanted, factory, code] of [
      ['@ai-sdk/no-such-thing', 'create', 'VT_PROVIDER_PACKAGE'],
      ['@ai-sdk/openai', 'noSuchFunction', 'VT_PROVIDER_PACKAGE'],
      ['yaml', 'isMap', 'VT_PROVIDER_VERSION'],
    ] as const) {
      const wrong = await scene([], { provider: { api_format: 'ai-sdk', package: wanted, factory } })
      await expect(wrong.run(), wanted).rejects.toMatchObject({ code })
    }
  })
})
