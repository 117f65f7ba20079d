import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { harness, hold, items, scene } from '../support/inside.js'
import { call, home, startPeer, vtcode, type Home } from '../support/peer.js'
import { serve } from '../support/server.js'

/** Writes files into the user's folder and enables the plugins among them as the user's own. */
const own = (place: Home, files: Record<string, string>) => {
  const brought = new Set<string>(JSON.parse(place.env['VTCODE__MANIFESTS'] ?? '[]') as string[])
  for (const [name, text] of Object.entries(files)) {
    const file = join(place.home, '.vtcode', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    if (name.startsWith('mine/')) brought.add(dirname(file))
  }
  place.env['VTCODE__MANIFESTS'] = JSON.stringify([...brought])
}
const place = async (script: Parameters<typeof startPeer>[0] = []) => {
  const peer = hold(await startPeer(script))
  return { peer, at: hold(await home(peer)) }
}

describe('built-in providers', () => {
  const chat = { OPENAI_API_KEY: 'sk-of-the-user-Aa0123456789', OPENAI_BASE_URL: '' }
  it('lists the models of each provider that has a key, with their known properties', async () => {
    const { at } = await place()
    const { out, err } = await vtcode(at, ['models', 'list', '--text'], { env: { ANTHROPIC_API_KEY: 'x'.repeat(20) } })
    expect(out).toMatch(/^anthropic\/claude-haiku-4-5 +Anthropic +anthropic-messages +200000 tokens$/m)
    expect(out).not.toContain('openai/gpt')
    expect(err).toContain(
      'Available with a key: deepseek (DEEPSEEK_API_KEY), google (GEMINI_API_KEY), openai (OPENAI_API_KEY), openrouter (OPENROUTER_API_KEY).',
    )
    const described = JSON.parse((await vtcode(at, ['models', 'describe', 'anthropic/claude-haiku-4-5', '--json'])).out)
    expect(described).toMatchObject({
      base_url: 'https://api.anthropic.com/v1',
      facts: {
        context_window: { value: 200000, source: expect.stringMatching(/^snapshot of \d{4}-\d\d-\d\d$/) },
        supports_context_caching: { value: true, source: 'default of anthropic-messages' },
      },
    })
    const unknown = JSON.parse((await vtcode(at, ['models', 'describe', 'anthropic/some-new-one', '--json'])).out)
    expect(unknown.facts.context_window).toEqual({ value: 128000, source: 'assumed' })
  })
  it('calls the provider that the environment or the user names, with its own key and format', async () => {
    const { peer, at } = await place([{ content: 'from the first' }, { content: 'from the second' }])
    const first = await vtcode(at, ['ask', '--model', 'openai/gpt-5-mini', 'hi'], {
      env: { ...chat, OPENAI_BASE_URL: `${peer.url}/v1` },
    })
    expect(first).toMatchObject({ code: 0, out: 'from the first\n' })
    expect(peer.asked[0]).toMatchObject({ path: '/v1/responses' })
    own(at, {
      'vtcode.config.json': JSON.stringify({
        providers: { google: { base_url: `${peer.url}/v1beta`, api_key_env: 'OTHER_KEY' } },
      }),
    })
    const second = await vtcode(at, ['ask', '--model', 'google/gemini-2.5-pro', 'hi'], {
      env: { OTHER_KEY: 'key-for-google-0123' },
    })
    expect(second).toMatchObject({ code: 0, out: 'from the second\n' })
    expect(peer.asked[1]).toMatchObject({ path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse' })
  })
  it('needs neither an entry nor a choice when one key is set, and accepts a model by its own name', async () => {
    const { peer, at } = await place([{ content: 'first' }, { content: 'second' }, { content: 'third' }])
    own(at, { 'vtcode.config.json': '{}' })
    const one = { ANTHROPIC_API_KEY: 'x'.repeat(20), ANTHROPIC_BASE_URL: `${peer.url}/v1` }
    expect(await vtcode(at, ['exec', 'hi'], { env: one })).toMatchObject({ code: 0, out: 'first\n' })
    const both = { ...one, DEEPSEEK_API_KEY: 'y'.repeat(20) }
    expect(await vtcode(at, ['exec', '--model', 'claude-haiku-4-5', 'hi'], { env: both })).toMatchObject({
      code: 0,
      out: 'second\n',
    })
    expect(await vtcode(at, ['exec', '--model', 'anthropic', 'hi'], { env: both })).toMatchObject({
      code: 0,
      out: 'third\n',
    })
    expect(peer.bodies.map(({ model }) => model)).toEqual([
      'claude-sonnet-5-5',
      'claude-haiku-4-5',
      'claude-sonnet-5-5',
    ])
    // A model is known although the key of its provider is missing; the error names the key.
    expect(await vtcode(at, ['exec', '--model', 'gpt-6-astra', 'hi'], { env: both })).toMatchObject({
      code: 3,
      err: expect.stringContaining('OPENAI_API_KEY is not set'),
    })
    const twice = {
      custom_providers: ['a', 'b'].map((name) => ({
        name,
        base_url: `${peer.url}/v1`,
        api_key_env: 'none',
        models: ['vendor/m'],
      })),
    }
    own(at, { 'vtcode.config.json': JSON.stringify(twice) })
    expect(await vtcode(at, ['exec', '--model', 'vendor/m', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringMatching(/Several providers have 'vendor\/m'\.\n.*--model a\/vendor\/m, --model b\/vendor\/m/),
    })
  })
  it('reports a missing key, and lists the known models when none is chosen', async () => {
    const { at } = await place()
    expect(await vtcode(at, ['ask', '--model', 'openai/gpt-5-mini', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('OPENAI_API_KEY is not set'),
    })
    own(at, { 'vtcode.config.json': '{}' })
    const { code, err } = await vtcode(at, ['ask', 'hi'], { env: { ...chat, DEEPSEEK_API_KEY: 'x'.repeat(20) } })
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(
        /No model is chosen\. Providers that can be asked: deepseek, openai\.\n.*--model deepseek\/deepseek-v4-pro, --model openai\/gpt-6\.1-sol\. A provider alone stands for its first model: --model deepseek\. To keep it: agent\.model in /,
      ),
    ])
    own(at, {
      'vtcode.config.json': JSON.stringify({
        custom_providers: [{ name: 'free', base_url: 'http://127.0.0.1:9/v1' }],
        agent: { harness: { max_budget_usd: 1 } },
      }),
    })
    expect(await vtcode(at, ['exec', '--model', 'free/m', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('VT_LLM_UNPRICED: The model free/m has no price'),
    })
    // The command line overrides the environment, and the environment overrides the settings.
    own(at, { 'vtcode.config.json': '{"agent":{"model":"none/c"}}' })
    for (const [args, env, named] of [
      [['--model', 'none/a'], { VTCODE_MODEL: 'none/b' }, 'none/a'],
      [[], { VTCODE_MODEL: 'none/b' }, 'none/b'],
      [[], {}, 'none/c'],
    ] as const) {
      expect(await vtcode(at, ['ask', ...args, 'hi'], { env })).toMatchObject({
        code: 3,
        err: expect.stringContaining(`(model '${named}')`),
      })
    }
    own(at, { 'vtcode.config.json': '{"providers":{"opanai":{}}}' })
    expect(await vtcode(at, ['models'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('no built-in provider has this name'),
    })
    own(at, { 'vtcode.config.json': '{}' })
    expect(await vtcode(at, ['models'], { env: { OLLAMA_BASE_URL: 'http://models.example/v1' } })).toMatchObject({
      code: 3,
      err: expect.stringContaining('OLLAMA_BASE_URL'),
    })
  })
})

describe('provider of a manifest', () => {
  const manifest = (name: string, more: object) => JSON.stringify({ name, kind: 'provider', ...more })
  it('calls a provider of a manifest under its own name with its own secrets', async () => {
    const { peer, at } = await place([{ content: 'hello from acme' }])
    own(at, {
      'mine/acme/vtcode.json': manifest('acme', {
        secrets: { token: { description: 'A key of Acme.' } },
        options: { properties: { team: { type: 'string', default: 'red' } } },
        provider: {
          name: 'acme',
          base_url: `${peer.url}/v1`,
          models: ['m'],
          auth: { type: 'bearer', value: { secret: 'token' } },
          headers: { 'x-team': { option: 'team' } },
        },
      }),
      'vtcode.config.json': JSON.stringify({ secrets: { 'acme:token': { env: 'ACME' } } }),
    })
    const ran = await vtcode(at, ['ask', '--model', 'acme/m', 'hi'], { env: { ACME: 'the-key-of-acme' } })
    expect(ran).toMatchObject({ code: 0, out: 'hello from acme\n' })
    expect((peer.asked[0] as any).headers).toMatchObject({ authorization: expect.any(String), 'x-team': 'red' })
    expect((await vtcode(at, ['models', 'list', '--json'])).out).toContain('"acme/m"')
    expect(await vtcode(at, ['ask', '--model', 'acme/m', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('ACME'),
    })
  })
  it('refuses a manifest with the name of another provider and keeps the others when one is wrong', async () => {
    const { at } = await place()
    own(at, {
      'mine/a/vtcode.json': manifest('a', { provider: { name: 'openai', base_url: 'http://127.0.0.1:1/v1' } }),
      'mine/b/vtcode.json': manifest('b', { provider: { name: 'peer', base_url: 'http://127.0.0.1:1/v1' } }),
      'mine/c/vtcode.json': manifest('c', { provider: { name: 'c', base_url: 'http://models.example/v1' } }),
      'mine/d/vtcode.json': manifest('d', {
        provider: { name: 'd', base_url: 'http://127.0.0.1:1/v1', supports_wings: true },
      }),
    })
    const { out, err } = await vtcode(at, ['models'])
    expect(out).toContain('peer/m')
    expect(err).toContain("the name 'peer' is taken by")
    expect(err).toContain("'http://models.example/v1' is neither https nor http to this machine")
    const { out: doctor } = await vtcode(at, ['doctor', '--json'])
    expect(doctor).toContain('supports_wings')
    expect(JSON.parse(doctor).contributions.find(({ file }: any) => file.endsWith('mine/a/vtcode.json'))).toMatchObject(
      { state: 'shadowed' },
    )
  })
  it('loads a provider of a workspace only after consent', async () => {
    const { peer, at } = await place([{ content: 'agreed' }])
    mkdirSync(join(at.root, '.vtcode/plugins/acme'), { recursive: true })
    writeFileSync(
      join(at.root, '.vtcode/plugins/acme/vtcode.json'),
      manifest('acme', { provider: { name: 'acme', base_url: `${peer.url}/v1`, models: ['m'] } }),
    )
    expect(await vtcode(at, ['ask', '--model', 'acme/m', 'hi'])).toMatchObject({
      code: 3,
      err: expect.stringContaining("Unknown provider 'acme'"),
    })
    expect((await vtcode(at, ['trust', 'add', 'plugin:acme'])).code).toBe(0)
    expect(await vtcode(at, ['ask', '--model', 'acme/m', 'hi'])).toMatchObject({ code: 0, out: 'agreed\n' })
  })
})

describe('provider made by a module', () => {
  const module = `export default (options, context) => ({
    models: () => ['echo'],
    async *generate({ prompt, tools, model }, { signal }) {
      if (options.mood === 'busy' && !globalThis.asked++) { yield { type: 'error', message: 'too much to do', status: 503 }; return }
      const said = prompt.at(-1)
      if (said.role === 'user') {
        yield { type: 'reasoning', text: 'I had better look.' }
        yield { type: 'tool_call', id: 'one', name: 'unified_search', arguments: { action: 'list' } }
        yield { type: 'usage', input_tokens: 7, output_tokens: 3 }
        yield { type: 'finish', reason: 'tool-calls' }
        return
      }
      yield { type: 'text', text: model + ' heard: ' }
      yield { type: 'text', text: said.content[0].output.value }
      yield { type: 'finish' }
    },
  })
  globalThis.asked = 0`
  /** Repeats requests without a wait. */
  const hasty = {
    'mine/hasty/vtcode.json': JSON.stringify({
      name: 'hasty',
      kind: 'provider',
      component: 'retry',
      module: './hasty.mjs',
    }),
    'mine/hasty/hasty.mjs': 'export default () => ({ next: () => 0 })',
    'vtcode.config.json': JSON.stringify({ agent: { providers: { retry: 'hasty' } } }),
  }
  const files = (mood: string) => ({
    'mine/echo/vtcode.json': JSON.stringify({
      name: 'echo',
      kind: 'provider',
      module: './echo.mjs',
      options: { properties: { mood: { default: mood } } },
    }),
    'mine/echo/echo.mjs': module,
  })

  it('generates text, calls tools and counts usage through a provider module', async () => {
    const { at } = await place()
    own(at, files('calm'))
    writeFileSync(join(at.root, 'one.txt'), '')
    expect((await vtcode(at, ['models'])).out).toContain('echo/echo')
    const { out, code } = await vtcode(at, ['exec', '--json', '--model', 'echo/echo', 'what is here?'])
    expect(code).toBe(0)
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(items(events, 'agent_message')[0].text).toContain('echo heard: one.txt')
    expect(items(events, 'reasoning')[0].text).toBe('I had better look.')
    expect(events.find(({ type }) => type === 'step.completed').usage).toMatchObject({
      input_tokens: 7,
      output_tokens: 3,
    })
  })
  it('retries a provider module that reports that it is busy', async () => {
    const { at } = await place()
    own(at, { ...files('busy'), ...hasty })
    const { out } = await vtcode(at, ['exec', '--json', '--model', 'echo/echo', 'what is here?'])
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(harness(events, 'model_retry').map(({ error_category }) => error_category)).toEqual(['http 503'])
    expect(events.at(-1)).toMatchObject({ type: 'thread.completed', outcome_code: 'success' })
  })
  it('retries a provider module whose answer breaks off, never ends or is none, and then reports it', async () => {
    const { at } = await place()
    const odd = `export default () => ({
      generate: ({ model }) => model === 'none' ? 7 : (async function* () {
        yield { type: 'text', text: 'half' }
        if (model === 'throws') throw new Error('no more.')
        if (model === 'strange') yield { type: 'finish', reason: 'because' }
        if (model === 'empty') yield null
      })(),
    })`
    own(at, { ...files('calm'), ...hasty, 'mine/echo/echo.mjs': odd })
    for (const model of ['none', 'throws', 'endless', 'strange', 'empty']) {
      expect(await vtcode(at, ['ask', '--model', `echo/${model}`, 'hi']), model).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('VT_LLM_CUT: The answer broke off'),
      })
    }
  })
  it('refuses by name a provider module that returns nothing, throws or makes models of another version', async () => {
    for (const [text, code] of [
      ['export default () => ({})', 'VT_PROVIDER_MODULE'],
      ['export default () => { throw new Error("no luck") }', 'VT_PROVIDER_MODULE'],
      ['export const other = 1', 'VT_PROVIDER_MODULE'],
      ['export default () => ({ languageModel: () => ({ specificationVersion: "v2" }) })', 'VT_PROVIDER_VERSION'],
    ]) {
      const { at } = await place()
      own(at, { ...files('calm'), 'mine/echo/echo.mjs': text! })
      expect(await vtcode(at, ['ask', '--model', 'echo/echo', 'hi']), text).toMatchObject({
        code: 3,
        err: expect.stringContaining(code!),
      })
    }
  })
})

it('sends tools to Google in the form that it accepts', async () => {
  const tool = {
    name: 'pick',
    run: ['true'],
    description: 'Picks.',
    input: {
      type: 'object',
      properties: {
        one: { enum: ['a', 1] },
        two: { $ref: '#/$defs/tree' },
        three: { $ref: '#/$defs/word' },
        sure: true,
      },
      $defs: { tree: { type: 'object', properties: { below: { $ref: '#/$defs/tree' } } }, word: { type: 'string' } },
    },
  }
  const { root } = hold(await tempWorkspace({ 'pick.json': JSON.stringify(tool) }))
  const s = await scene([{ toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'ok' }], {
    format: 'google-generative-ai',
    boot: { manifests: [join(root, 'pick.json')] },
  })
  expect(await s.run()).toMatchObject({ outcome_code: 'success' })
  const declared = s.peer.bodies[0].tools.map((tool: any) => tool.function).find(({ name }: any) => name === 'pick')
  expect(declared.parameters.properties).toMatchObject({
    one: { type: 'string', enum: ['a'] },
    two: { type: 'object' },
    three: { type: 'string' },
  })
})

it('requests the model list of a server when models are listed, and at no other time', async () => {
  const server = hold(
    await serve((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"data":[{"id":"found-1"},{"id":"m"},{"id":7}]}'),
    ),
  )
  const peer = hold(await startPeer([]))
  const at = hold(await home(peer, {}, { provider: { base_url: `${server.url}/v1/`, discover: true } }))
  expect((await vtcode(at, ['models', 'list', '--text'])).out).toMatch(/^peer\/m .*\npeer\/found-1 .*\n$/)
  expect(server.seen.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/v1/models', 'Bearer key-of-the-peer-0123'],
  ])
  await vtcode(at, ['models', 'describe', 'peer/m'])
  expect(server.seen.length).toBe(1)
})

it('passes a patch as free text to a server with free-text tools and reads it back unchanged', async () => {
  const patch = '*** Begin Patch\n*** Add File: a.txt\n+one "line"\n*** End Patch'
  const frame = (event: object) => `data: ${JSON.stringify(event)}\n\n`
  const done = (output: object[]) =>
    frame({
      type: 'response.completed',
      response: {
        id: 'r',
        object: 'response',
        created_at: 1,
        model: 'm',
        output,
        usage: {
          input_tokens: 1,
          output_tokens: 1,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
        },
      },
    })
  const created = frame({
    type: 'response.created',
    response: { id: 'r', object: 'response', created_at: 1, model: 'm', output: [] },
  })
  const item = {
    id: 'i',
    type: 'custom_tool_call',
    call_id: 'call_1',
    name: 'apply_patch',
    input: patch,
    status: 'completed',
  }
  const answers = [
    created +
      frame({ type: 'response.output_item.added', output_index: 0, item: { ...item, input: '' } }) +
      frame({ type: 'response.output_item.done', output_index: 0, item }) +
      done([item]),
    created +
      frame({ type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message' } }) +
      frame({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Done.' }) +
      frame({ type: 'response.output_item.done', output_index: 0, item: { id: 'm', type: 'message' } }) +
      done([]),
  ]
  const server = hold(
    await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answers.shift() ?? ''),
    ),
  )
  const s = await scene([], { url: server.url, format: 'openai-responses' })
  expect(await s.run()).toMatchObject({ outcome_code: 'success', text: 'Done.' })
  expect(await s.booted.read('a.txt')).toBe('one "line"\n')
  const [first, second] = server.seen.map(({ body }) => JSON.parse(body))
  expect(first.tools.find(({ name }: any) => name === 'apply_patch')).toMatchObject({
    type: 'custom',
    format: { type: 'text' },
  })
  expect(second.input.slice(-2)).toMatchObject([
    { type: 'custom_tool_call', input: patch },
    { type: 'custom_tool_call_output' },
  ])
  const plain = await scene([{ toolCalls: [call('apply_patch', { input: patch })] }, { content: 'ok' }], {
    format: 'openai-responses',
    provider: { compat: { custom_tools: false } },
  })
  expect(await plain.run()).toMatchObject({ outcome_code: 'success' })
  expect(await plain.booted.read('a.txt')).toBe('one "line"\n')
})
