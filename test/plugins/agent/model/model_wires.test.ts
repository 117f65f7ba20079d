import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { serve, type TestServer } from '../../../support/server.js'
import { framesOf, wholeOf, wires, type Said, type Wire } from '../../../support/frames.js'
import { harness, hold, items, scene } from '../../../support/inside.js'
import { checkLog } from '../../../support/invariants.js'

const stream = { 'content-type': 'text/event-stream' }
const args = JSON.stringify({ action: 'write', path: 'a.txt', content: 'x\n' })
const write = { name: 'unified_file', arguments: args }
type Answer = string | ((response: ServerResponse) => unknown)
/** Answers the requests in this order and repeats the last answer. */
const answering = async (...answers: Answer[]): Promise<TestServer> =>
  hold(
    await serve((_, response) => {
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!
      return typeof answer === 'function' ? answer(response) : response.writeHead(200, stream).end(answer)
    }),
  )

const against = async (format: Wire, server: TestServer, provider: object = {}) =>
  scene([], { url: server.url, format, provider })

// Servers of each wire may do these things, with the same outcome.
describe.each(wires)('model wire over %s', (format) => {
  const whole = wholeOf(format, { text: 'whole' })

  it('repeats a request whose answer ends after a whole call without its end, and runs nothing', async () => {
    const server = await answering(framesOf(format, { call: write }).body, whole)
    const s = await against(format, server)
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'whole' })
    expect([server.seen.length, await s.booted.read('a.txt'), items(s.events, 'tool_invocation')]).toEqual([
      2,
      undefined,
      [],
    ])
  })

  it('treats an answer with an unreadable frame as incomplete, even when it ends well', async () => {
    const { body, end } = framesOf(format, { text: 'half' })
    const server = await answering(`${body}data: {bad\n\n${end}`, whole)
    const s = await against(format, server)
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'whole' })
    expect(harness(s.events, 'model_retry').map(({ error_category }) => error_category)).toEqual(['cut'])
    expect(server.seen[1]!.body).not.toContain('half')
  })

  it('runs a whole call of an answer cut by its length, refuses a cut call and reports that to the model', async () => {
    const cut = await answering(wholeOf(format, { call: { ...write, arguments: args.slice(0, -6) } }, 'length'), whole)
    const s = await against(format, cut)
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'whole' })
    expect(await s.booted.read('a.txt')).toBeUndefined()
    expect(cut.seen[1]!.body).toContain('VT_LLM_CALL_TRUNCATED')
    checkLog(s.events)
    const t = await against(format, await answering(wholeOf(format, { call: write }, 'length'), whole))
    await t.run()
    expect(await t.booted.read('a.txt')).toBe('x\n')
  })

  it('renews a refused token once and shows it in no log', async () => {
    const { root } = (await scene([])).booted
    const refuse = (response: ServerResponse) =>
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end('{"error":{"message":"expired: token-number-1"}}')
    const server = await answering(refuse, wholeOf(format, { text: 'the token is token-number-2' }))
    const auth = { command: '/bin/sh', args: ['-c', 'echo x >> count; echo token-number-$(wc -l < count)'], cwd: root }
    const s = await against(format, server, { auth })
    const outcome = await s.run()
    expect(outcome.outcome_code).toBe('success')
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-number-1',
      'Bearer token-number-2',
    ])
    expect(JSON.stringify([outcome, s.events])).not.toContain('token-number')
    const refused = await answering(refuse)
    expect((await (await against(format, refused, { auth })).run()).error?.code).toBe('VT_LLM_AUTH')
    expect(refused.seen.length).toBe(2)
    const fixed = await answering(refuse)
    expect((await (await against(format, fixed)).run()).error?.code).toBe('VT_LLM_AUTH')
    expect(fixed.seen.length).toBe(1)
  })

  it('counts and prices tokens, cached ones at their own price', async () => {
    const first: Said = {
      call: { name: 'unified_search', arguments: '{"action":"list"}' },
      usage: { input: 1000, cached: 0, output: 50 },
    }
    const second: Said = { text: 'ok', usage: { input: 1200, cached: 900, output: 7 } }
    const s = await against(format, await answering(wholeOf(format, first), wholeOf(format, second)), {
      cost: { input: 3, output: 15, cache_read: 0.3 },
    })
    const { usage, total_cost_usd } = await s.run()
    const prices = [(1000 * 3 + 50 * 15) / 1e6, (300 * 3 + 900 * 0.3 + 7 * 15) / 1e6] as const
    const steps = s.events.filter((event) => event.type === 'step.completed')
    expect(steps.map((event) => event.usage)).toMatchObject([
      { input_tokens: 1000, cached_input_tokens: 0, output_tokens: 50 },
      { input_tokens: 1200, cached_input_tokens: 900, output_tokens: 7 },
    ])
    steps.forEach((event, index) => expect(event.cost_usd).toBeCloseTo(prices[index]!, 9))
    expect(usage).toMatchObject({ input_tokens: 2200, cached_input_tokens: 900, output_tokens: 57 })
    expect(usage).not.toHaveProperty('estimated')
    expect(total_cost_usd).toBeCloseTo(prices[0] + prices[1], 9)
    expect(s.events.at(-1)).toMatchObject({ type: 'thread.completed', total_cost_usd })
  })

  it('sends the key to the server but not to its redirect target', async () => {
    const other = await answering(whole)
    const server = await answering((response) =>
      response.writeHead(307, { location: `http://localhost:${other.port}/v1/elsewhere` }).end(),
    )
    const s = await against(format, server, { headers: { 'x-team': 'tools' } })
    expect(await s.run()).toMatchObject({ text: 'whole' })
    const secretsOf = ({ seen }: TestServer) =>
      Object.entries(seen[0]!.headers).filter(
        ([name, value]) => name === 'x-team' || String(value).includes('key-of-the-peer'),
      )
    expect([secretsOf(server).length, secretsOf(other)]).toEqual([2, []])
  })

  it('uses the fallback when a server is down, without metadata of the first', async () => {
    const thinking: Said = {
      reasoning: 'I look first.',
      call: { name: 'unified_search', arguments: '{"action":"list"}' },
    }
    const down = (response: ServerResponse) =>
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"down"}}')
    const server = await answering(wholeOf(format, thinking), down)
    const stand_in = await answering(wholeOf(format, { text: 'from b' }))
    const entry = (name: string, url: string) => ({
      name,
      api_format: format,
      base_url: `${url}/v1`,
      retries: { request: 0 },
    })
    const s = await scene([], {
      boot: {
        config: {
          agent: { model: 'a/x', fallback_models: ['b/y'] },
          custom_providers: [entry('a', server.url), entry('b', stand_in.url)],
        } as never,
      },
    })
    expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'from b' })
    expect(harness(s.events, 'model_fallback')).toMatchObject([
      { error_category: 'VT_LLM_REQUEST', data: { from: 'a/x', to: 'b/y' } },
    ])
    expect(
      s.events.flatMap((event) => (event.type === 'segment.started' ? [[event.model, event.reason]] : [])),
    ).toEqual([
      ['a/x', 'start'],
      ['b/y', 'model_switch'],
    ])
    // Reasoning returns unchanged to the server that sent it.
    if (format !== 'openai-chat') expect(server.seen[1]!.body).toContain('note-of-this-server')
    expect(stand_in.seen[0]!.body).toContain('unified_search')
    expect(stand_in.seen[0]!.body).not.toMatch(/note-of-this-server|I look first/)
    checkLog(s.events)
  })
})

it('ends silence at a timeout, before the first token and in the middle', async () => {
  // All wires wait at the same time.
  const told = await Promise.all(
    wires.map(async (format) => {
      const { body } = framesOf(format, { text: 'half' })
      const server = await answering(
        () => {},
        (response) => response.writeHead(200, stream).write(body),
        wholeOf(format, { text: 'whole' }),
      )
      const s = await against(format, server, { timeouts: { first_token_ms: 1500, idle_ms: 1500 } })
      const { text } = await s.run()
      return [format, text, harness(s.events, 'model_retry').map(({ error_category }) => error_category)]
    }),
  )
  expect(told).toEqual(wires.map((format) => [format, 'whole', ['first_token', 'idle']]))
})

describe('servers without token counts', () => {
  it.each([
    '{}',
    '{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}',
    '{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":5}}',
    'null',
  ])('estimates tokens when the server answers with %s', async (usage) => {
    const said = wholeOf('openai-chat', { text: 'A few words, which are no tokens at all.' }).replace(
      /"usage":\{.*?\}\}/,
      `"usage":${usage}`,
    )
    const s = await scene([], { url: (await answering(said)).url })
    const ran = await s.run()
    expect(ran).toMatchObject({ outcome_code: 'success', usage: { estimated: true } })
    expect(ran.usage.input_tokens).toBeGreaterThan(100)
    expect(ran.usage.output_tokens).toBeGreaterThan(3)
  })
})

describe('server prices', () => {
  const paid = (cost: unknown) =>
    framesOf('openai-chat', { text: 'ok', usage: { input: 10, cached: 0, output: 1 } }).body +
    framesOf('openai-chat', {}).end.replace('"usage":{', `"usage":{"cost":${JSON.stringify(cost)},`)
  it('prefers a price of the server to the configured one and uses it when none is configured', async () => {
    for (const [provider, cost, expected] of [
      [{ cost: { input: 3, output: 15 } }, 0.0125, 0.0125],
      [{}, 0, 0],
      [{}, 'free', null],
      [{}, -1, null],
    ] as const) {
      const s = await scene([], { url: (await answering(paid(cost))).url, provider })
      expect((await s.run()).total_cost_usd).toBe(expected)
    }
  })
})
