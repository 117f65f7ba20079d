import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { hold, items, scene } from '../../../support/inside.js'
import { checkLog } from '../../../support/invariants.js'
import { call, formats, home, startPeer, vtcode, type Format } from '../../../support/peer.js'
import { startServer } from '../../../support/wire_server.js'

const accepted = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/
/** Collects names of calls and of their results, whatever the wire calls them. */
function namesIn(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) for (const item of value) namesIn(item, found)
  else if (typeof value === 'object' && value !== null) {
    const { function: made, functionCall, functionResponse, type, name } = value as any
    if (typeof made?.name === 'string') found.push(made.name)
    if (typeof functionCall?.name === 'string') found.push(functionCall.name)
    if (typeof functionResponse?.name === 'string') found.push(functionResponse.name)
    if (/^(tool_use|function_call|custom_tool_call)$/.test(type)) found.push(name)
    for (const item of Object.values(value)) namesIn(item, found)
  }
  return found
}
/** Collects texts of messages that hold only white space. */
function blanksIn(value: unknown, found: string[] = []): string[] {
  if (Array.isArray(value)) for (const item of value) blanksIn(item, found)
  else if (typeof value === 'object' && value !== null) {
    const { text, content, role } = value as any
    if (typeof text === 'string' && text.trim() === '') found.push(JSON.stringify(value))
    if (role !== undefined && typeof content === 'string' && content.trim() === '' && !('tool_calls' in value))
      found.push(JSON.stringify(value))
    for (const item of Object.values(value)) blanksIn(item, found)
  }
  return found
}
const strange = ['functions.do_it', 'foo bar!', 'x'.repeat(100), '', '1st', 'ünified', 'a\u0000b', '\ud800']
const historyOf = ({ messages, input, contents }: any): unknown => messages ?? input ?? contents

describe('request history', () => {
  it.each(formats)(
    'sends over %s only names that every wire accepts, and keeps results with their calls',
    async (format: Format) => {
      const s = await scene(
        [
          { content: ' \n\t ', toolCalls: strange.map((name, index) => call(name, { a: 1 }, `call_${index}`)) },
          { content: 'ok' },
        ],
        { format },
      )
      await s.run()
      const names = namesIn(historyOf(s.peer.bodies.at(-1)))
      expect(s.peer.bodies).toHaveLength(2)
      expect(names.length).toBeGreaterThanOrEqual(strange.length - 1)
      expect(names.filter((name) => !accepted.test(name))).toEqual([])
      checkLog(s.events)
    },
  )

  it.each(formats)('sends over %s no text of white space alone', async (format: Format) => {
    const s = await scene(
      [
        { content: ' \n ', toolCalls: [call('unified_search', { action: 'list' })] },
        { content: 'one' },
        { content: 'two' },
      ],
      { format, boot: { files: { 'blank.txt': ' \n\n' } } },
    )
    const agent = await createAgent(s.booted.kernel, {
      env: {},
      providers: { execute: { run: async () => ({ ok: true, output: {}, text: ' \n ' }) } },
    })
    await agent.run('go')
    await agent.run(' \n ')
    await agent.close()
    expect(s.peer.bodies.length).toBeGreaterThanOrEqual(3)
    for (const body of s.peer.bodies) expect(blanksIn(historyOf(body))).toEqual([])
  })

  it.each(formats)('treats an answer of white space alone over %s as empty', async (format: Format) => {
    const s = await scene([{ content: ' \n\t' }, { content: '  ' }, { content: '\n' }, { content: 'never' }], {
      format,
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'failed', error: { code: 'VT_LLM_EMPTY' } })
  })
})

describe('answers cut by their length', () => {
  const reasons = {
    'openai-chat': 'length',
    'anthropic-messages': 'max_tokens',
    'google-generative-ai': 'MAX_TOKENS',
    'openai-responses': '',
  }
  it.each(formats)('fails a cut answer over %s with its text and the reason', async (format: Format) => {
    // The peer names no reason over this wire, so a test server does.
    const server = format === 'openai-responses' ? hold(await startServer(format, { cut: true })) : undefined
    const s = await scene([{ content: 'ok', finishReason: reasons[format] }], {
      format,
      ...(server && { url: server.url }),
    })
    expect(await s.run()).toMatchObject({
      outcome_code: 'failed',
      exit_code: 1,
      text: 'ok',
      error: { code: 'VT_LLM_LENGTH', hint: expect.stringContaining('max_output_tokens') },
    })
    checkLog(s.events)
    expect(s.events.some((event) => event.type === 'turn.failed' && event.code === 'VT_LLM_LENGTH')).toBe(true)
    expect(items(s.events, 'agent_message').map(({ text }) => text)[0]).toBe('ok')
  })
  it('prints a cut answer in every verb with the reason and a failing exit code', async () => {
    const cut = { content: 'The answer begins and', finishReason: 'length' }
    const at = hold(await home(hold(await startPeer([cut, cut, cut, { content: 'goes on' }]))))
    for (const [args, input] of [[['exec', '--quiet', 'go']], [['ask', 'go']], [['chat'], 'go\n']] as const) {
      const { code, out, err } = await vtcode(at, [...args], input === undefined ? {} : { input })
      expect([args[0], code, out, err]).toEqual([
        args[0],
        1,
        'The answer begins and\n',
        expect.stringMatching(/VT_LLM_LENGTH[\s\S]*max_output_tokens/),
      ])
    }
    expect(await vtcode(at, ['exec', '--quiet', 'resume', '--last', 'go on'])).toMatchObject({
      code: 0,
      out: 'goes on\n',
    })
  })
})

describe('reasoning', () => {
  const effort = { settings: { agent: { model: 'peer/m', reasoning_effort: 'high' } } }
  it.each([
    ['openai-chat', (body: any) => body.reasoning_effort, 'high'],
    ['openai-responses', (body: any) => body.reasoning?.effort, 'high'],
    ['anthropic-messages', (body: any) => body.output_config?.effort, 'high'],
    ['google-generative-ai', (body: any) => body.generationConfig?.thinkingConfig?.thinkingLevel, 'high'],
  ] as const)('sends the reasoning effort over %s unless the model knows none', async (format, found, expected) => {
    const server = await startServer(format)
    const s = await scene([], { format, url: server.url, ...effort })
    await s.run()
    const none = await scene([], {
      format,
      url: server.url,
      ...effort,
      provider: { supports_reasoning_effort: false },
    })
    await none.run()
    expect(server.bodies.map(found)).toEqual([expected, undefined])
    await server[Symbol.asyncDispose]()
  })

  it('requests encrypted reasoning and returns it over openai-responses', async () => {
    const server = await startServer('openai-responses', { encrypted: 'encrypted-reasoning-of-the-server' })
    const s = await scene([], { format: 'openai-responses', url: server.url, provider: { supports_reasoning: true } })
    const agent = await createAgent(s.booted.kernel, { env: { PEER_API_KEY: 'k' } })
    await agent.run('one')
    await agent.run('two')
    await agent.close()
    expect(server.bodies[0].include).toContain('reasoning.encrypted_content')
    expect(JSON.stringify(server.bodies[1].input)).toContain('encrypted-reasoning-of-the-server')
    await server[Symbol.asyncDispose]()
  })
})

describe('answer length', () => {
  it('sends no length for a model with an unknown context window', async () => {
    for (const format of ['openai-chat', 'openai-responses', 'google-generative-ai'] as const) {
      const s = await scene([{ content: 'ok' }], { format })
      await s.run()
      const [body] = s.peer.bodies
      expect([format, body.max_tokens, body.max_output_tokens, body.generationConfig?.maxOutputTokens]).toEqual([
        format,
        undefined,
        undefined,
        undefined,
      ])
    }
    const known = await scene([{ content: 'ok' }], { provider: { context_window: 16_000 } })
    await known.run()
    expect(known.peer.bodies[0].max_tokens).toBeLessThanOrEqual(8000)
    const said = await scene([{ content: 'ok' }], { provider: { max_output_tokens: 700 } })
    await said.run()
    expect(said.peer.bodies[0].max_tokens).toBe(700)
  })

  it('hints at the settings key when a server refuses the length', async () => {
    const message =
      "'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens and your request has 50 input tokens."
    const s = await scene(
      [
        { error: { message }, status: 400 },
        { error: { message }, status: 400 },
        { error: { message }, status: 400 },
      ],
      { provider: { max_output_tokens: 9000 } },
    )
    const { error } = await s.run()
    expect(error).toMatchObject({ code: 'VT_LLM_REQUEST', hint: expect.stringContaining('max_output_tokens') })
    expect(s.peer.bodies).toHaveLength(1)
  })
})

it('reports in events every message that the model gets in addition to user prompts', async () => {
  const s = await scene(
    [
      { content: 'I do <tool_call>x</tool_call>' },
      { toolCalls: [call('unified_file', { action: 'read', path: 'sub/a.txt' })] },
      { content: 'ok' },
    ],
    { boot: { files: { 'sub/AGENTS.md': 'Say please.\n', 'sub/a.txt': 'a\n' } } },
  )
  await s.run()
  const told = items(s.events, 'user_message').map(({ text, origin }) => [origin, text])
  const sent = s.peer.bodies
    .at(-1)
    .messages.filter(({ role }: any) => role === 'user')
    .map(({ content }: any) => (typeof content === 'string' ? content : content.map(({ text }: any) => text).join('')))
  expect(told.map(([, text]) => text)).toEqual(sent)
  expect(told.map(([origin]) => origin)).toEqual(['prompt', 'harness', 'instructions'])
  checkLog(s.events)
})
