import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { connect as connectTcp, type AddressInfo, type Socket } from 'node:net'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { serve } from '../../../support/server.js'
import { harness, hold, scene } from '../../../support/inside.js'
import { call, eventsOf, formats, home, settingsFor, startPeer, vtcode } from '../../../support/peer.js'

const whole = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
const answering = async (text = whole) =>
  hold(await serve((_, response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)))
const closing = (server: { close(done: () => void): unknown; closeAllConnections?(): void }) =>
  hold({
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => (server.closeAllConnections?.(), server.close(() => done()))),
  })
/** Runs the program with provider settings of a user on top of the defaults and returns its output. */
const said = async (provider: object, env: Record<string, string> = {}) => {
  const peer = hold(await startPeer([]))
  const place = hold(await home(peer, {}, { provider }))
  return vtcode(place, ['models', 'describe', 'peer/m', '--text'], { env })
}

describe('validation of a provider entry', () => {
  it.each([
    ['supports_wings: true', { supports_wings: true }, /supports_wings/],
    ['retries of another name', { retries: { forever: 1 } }, /forever/],
    ['a timeout of no time', { timeouts: { idle_ms: 0 } }, /idle_ms/],
    ['a price without output', { cost: { input: 1 } }, /output/],
    ['a profile with what only entries have', { profiles: { m: { base_url: 'x' } } }, /base_url/],
    ['compat of another name', { compat: { max_token_field: 'x' } }, /max_tokens_field/],
    ['a certificate without its key', { tls: { cert_file: 'x' } }, /key_file/],
    ['a way to switch verification off', { tls: { verify: false } }, /verify/],
    ['an unknown format', { api_format: 'openai' }, /allowed: auto, openai-chat/],
    ['an auth of another type', { auth: { type: 'magic', value: 'x' } }, /allowed: none, bearer/],
    ['an auth without its value', { auth: { type: 'bearer' } }, /needs value/],
    ['an auth with a field of another type', { auth: { type: 'none', value: 'x' } }, /has no value/],
    ['an auth next to a key', { auth: { type: 'none' }, api_key_env: 'X' }, /exclude each other/],
    ['a reserved header', { headers: { Authorization: 'x' } }, /set it under auth/],
    ['http to another machine', { base_url: 'http://models.example/v1' }, /neither https nor http to this machine/],
    ['an address with a name in it', { base_url: 'https://me:secret-word@models.example/v1' }, /user name/],
    ['a fragment', { base_url: 'https://models.example/v1#x' }, /fragment/],
    ['a package without its format', { package: '@ai-sdk/groq' }, /ai-sdk/],
    ['the format without a package', { api_format: 'ai-sdk' }, /needs package/],
    ['a reserved name', { name: 'openai' }, /reserved/],
    ['a variable that is not set', { base_url: 'https://${NOWHERE}/v1' }, /NOWHERE/],
  ])('rejects %s and names its place', async (_, provider, says) => {
    const { code, err } = await said(provider)
    expect([code, err]).toEqual([3, expect.stringMatching(says)])
    expect(err).toContain('vtcode.config.json')
    expect(err).not.toContain('secret-word')
  })
  it('fills in variables that texts of an entry name', async () => {
    const { out } = await said(
      { base_url: 'https://${HOST_OF_MODELS:-other.example}/v1' },
      { HOST_OF_MODELS: 'models.example' },
    )
    expect(out).toContain('https://models.example/v1')
  })
})

describe('provider credentials', () => {
  const header = {
    'openai-chat': 'authorization',
    'openai-responses': 'authorization',
    'anthropic-messages': 'x-api-key',
    'google-generative-ai': 'x-goog-api-key',
  }
  it.each(formats)(
    'sends a credential from the environment where %s expects it, and none when it is missing',
    async (format) => {
      const s = await scene([{ content: 'ok' }, { content: 'ok' }], { format })
      await s.run()
      // The peer's journal redacts credentials, so only their presence counts.
      expect(Object.keys((s.peer.asked[0] as any).headers)).toContain(header[format])
      await s.run('go', { env: {} })
      expect(
        Object.keys((s.peer.asked[1] as any).headers).filter((name) => Object.values(header).includes(name)),
      ).toEqual([])
    },
  )
  it('sends a credential unchanged, whatever it contains', async () => {
    const server = await answering()
    const s = await scene([], { url: server.url })
    await s.run('go', { env: { PEER_API_KEY: "$$money-$&-$1-$'" } })
    expect(server.seen[0]!.headers['authorization']).toBe("Bearer $$money-$&-$1-$'")
  })
  it.each([
    ['bearer', { type: 'bearer', value: { env: 'OF_MINE' } }, { authorization: 'Bearer mine-0123456789' }],
    ['header', { type: 'header', name: 'X-Gate', value: { env: 'OF_MINE' } }, { 'x-gate': 'mine-0123456789' }],
    [
      'basic',
      { type: 'basic', username: 'me', password: { env: 'OF_MINE' } },
      { authorization: `Basic ${Buffer.from('me:mine-0123456789').toString('base64')}` },
    ],
    ['none', { type: 'none' }, {}],
  ])('sends auth of the type %s and not the default key', async (_, auth, expected) => {
    for (const format of formats) {
      const server = await answering()
      const s = await scene([], { url: server.url, format, provider: { auth, retries: { request: 0, stream: 0 } } })
      await s.run('go', { env: { OF_MINE: 'mine-0123456789', PEER_API_KEY: 'key-of-the-peer-0123' } })
      const sent = Object.fromEntries(
        Object.entries(server.seen[0]!.headers).filter(([name]) =>
          /^(authorization|x-gate|x-api-key|x-goog-api-key)$/.test(name),
        ),
      )
      expect(sent, format).toEqual(expected)
    }
  })
  it('adds a query credential to the address and shows it in no error', async () => {
    const server = hold(
      await serve((_, response, { path }) =>
        response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: `bad request ${path}` } })),
      ),
    )
    const s = await scene([], {
      url: server.url,
      provider: { auth: { type: 'query', name: 'k', value: { env: 'OF_MINE' } } },
    })
    const outcome = await s.run('go', { env: { OF_MINE: 'mine-0123456789' } })
    expect(server.seen[0]!.path).toBe('/v1/chat/completions?k=mine-0123456789')
    expect(JSON.stringify([outcome, s.events])).not.toContain('mine-0123456789')
  })
  it('runs the credential command again when its token is old', async () => {
    const { root } = hold(await tempWorkspace({}))
    const server = await answering()
    const auth = {
      command: '/bin/sh',
      args: ['-c', 'echo x >> count; echo token-$(wc -l < count)'],
      cwd: root,
      refresh_interval_ms: 60_000,
    }
    const s = await scene([], { url: server.url, provider: { auth } })
    const agent = async (skip: number) => {
      let now = 0
      await s.run('one', { providers: { clock: { now: () => (now += skip), sleep: async () => {} } } })
    }
    await agent(0)
    await agent(0)
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
    for (const [args, why, timeout_ms] of [
      [['-c', 'exit 3'], 'exit code 3', 60_000],
      [['-c', 'sleep 9'], 'longer than 0.2 s', 200],
      [['-c', ':'], 'printed nothing', 60_000],
    ] as const) {
      const t = await scene([], { url: server.url, provider: { auth: { ...auth, args, timeout_ms } } })
      expect((await t.run()).error, why).toMatchObject({ code: 'VT_LLM_AUTH', message: expect.stringContaining(why) })
    }
  })
  it('refuses credentials that are endless or hold line breaks, and shows their text nowhere', async () => {
    const server = await answering()
    const many = await scene([], {
      url: server.url,
      provider: { auth: { command: '/usr/bin/yes', args: ['token-without-end'] } },
    })
    expect((await many.run()).error).toMatchObject({
      code: 'VT_LLM_AUTH',
      message: expect.stringContaining('printed more than 64 KiB'),
    })
    for (const [provider, env] of [
      [{ auth: { command: '/usr/bin/printf', args: ['abc-one\\ndef-two'] } }, {}],
      [{}, { PEER_API_KEY: 'abc-one\ndef-two' }],
      [{ auth: { type: 'header', name: 'X-Gate', value: { env: 'OF_MINE' } } }, { OF_MINE: 'abc-one\u2028def-two' }],
    ] as const) {
      const s = await scene([], { url: server.url, provider })
      const outcome = await s.run('go', { env })
      expect(outcome.error).toMatchObject({
        code: 'VT_LLM_AUTH',
        message: expect.stringContaining('its value has a line break'),
      })
      expect(JSON.stringify([outcome, s.events])).not.toMatch(/abc-one|def-two/)
      expect(s.waits).toEqual([])
    }
    expect(server.seen).toEqual([])
  })
  it('sends no credential of any kind to another origin, also after a redirect back', async () => {
    for (const provider of [
      {},
      { auth: { type: 'query', name: 'k', value: 'mine-0123456789' } },
      { auth: { type: 'header', name: 'x-gate', value: 'mine-0123456789' } },
      { headers: { 'x-secret': 'mine-0123456789' }, query: { q: 'mine-0123456789' } },
    ]) {
      let first: { url: string } | undefined
      const other = hold(
        await serve((_, response) => response.writeHead(307, { location: `${first!.url}/v1/back` }).end()),
      )
      const server = hold(
        await serve((_, response, { path }) => {
          if (path.startsWith('/v1/back')) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(whole)
          else response.writeHead(308, { location: `http://localhost:${other.port}/v1/elsewhere` }).end()
        }),
      )
      first = server
      const s = await scene([], { url: server.url, provider })
      expect(await s.run()).toMatchObject({ text: 'ok' })
      expect(JSON.stringify(server.seen[0])).toMatch(/mine-0123456789|key-of-the-peer-0123/)
      expect(JSON.stringify([other.seen, server.seen.slice(1)])).not.toMatch(/mine-0123456789|key-of-the-peer-0123/)
    }
    const away = hold(
      await serve((_, response) => response.writeHead(307, { location: 'http://models.example/v1' }).end()),
    )
    const s = await scene([], { url: away.url })
    expect((await s.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringContaining('redirects'),
    })
  })
  it.each([
    ['text', 400, (text: string) => text],
    ['an event', 200, (text: string) => `data: {"a":"${text}\n\n`],
    ['a reason', 200, (text: string) => `data: {"choices":[{"delta":{},"finish_reason":"${text}"}]}\n\n`],
  ])('shows no part of a credential that %s of a server repeats where it is cut', async (_, status, format) => {
    const secret = 'canary-Zx81-4711-not-for-you'
    const body = format(`${'.'.repeat(status === 400 ? 190 : 60)}${secret} is the key`)
    const server = hold(
      await serve((_request, response) => {
        response.writeHead(status, { 'content-type': status === 400 ? 'text/plain' : 'text/event-stream' }).end(body)
      }),
    )
    const provider = { api_key_env: 'PEER_OPENER', retries: { request: 0, stream: 0 } }
    const place = hold(await home(server, {}, { provider }))
    const ran = await vtcode(place, ['exec', '--json', 'go'], { env: { PEER_OPENER: secret } })
    expect(ran.code).toBe(1)
    expect(ran.out).toContain('.'.repeat(60))
    expect(ran.out + ran.err).not.toContain('canary')
  })
  it.each(['canary-Zx81-4711-not-for-you', 'canary "Zx81" \\4711 not for you'])(
    'redacts a credential from output, files and children although the server repeats it: %s',
    async (canary) => {
      const shows = (text: string) => text.includes(canary) || text.includes(JSON.stringify(canary).slice(1, -1))
      const calling = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: `your key is ${canary}`, tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'unified_exec', arguments: '{"action":"run","command":"env; echo done"}' } }] }, finish_reason: 'tool_calls' }] })}\n\ndata: [DONE]\n\n`
      const answers = [calling]
      const server = hold(
        await serve((_, response) => {
          const answer = answers.shift()
          if (answer) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer)
          else
            response
              .writeHead(400, { 'content-type': 'application/json' })
              .end(JSON.stringify({ error: { message: `the key ${canary} is not good`, key: canary } }))
        }),
      )
      // The name does not look like that of a secret.
      const place = hold(await home(server, {}, { provider: { api_key_env: 'PEER_OPENER' } }))
      const ran = await vtcode(
        place,
        ['--mode', 'full-auto', 'exec', '--json', '--events', join(place.root, 'events.log'), 'go'],
        { env: { PEER_OPENER: canary } },
      )
      expect(ran.code).toBe(1)
      expect(server.seen[0]!.headers.authorization).toBe(`Bearer ${canary}`)
      expect(ran.out).toContain('VT_LLM_REQUEST')
      expect([shows(ran.out), shows(ran.err)]).toEqual([false, false])
      expect(ran.out).toContain('[redacted:PEER_OPENER]')
      const files = [place.root, place.home].flatMap((root) =>
        readdirSync(root, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name)),
      )
      expect(files.length).toBeGreaterThan(4)
      expect(files.filter((file) => shows(readFileSync(file, 'utf8')))).toEqual([])
      // The second request carries the environment of the tool; text that the server sent itself is no leak.
      const told = JSON.parse(server.seen[1]!.body).messages.find(({ role }: any) => role === 'tool').content
      expect(told).toContain('VTCODE=1')
      expect(shows(told)).toBe(false)
    },
  )
  it('ignores a credential and an address of a repository or a .env file', async () => {
    const peer = hold(await startPeer([{ content: 'ok' }]))
    const place = hold(await home(peer))
    const hostile = await answering()
    mkdirSync(join(place.root, '.vtcode'), { recursive: true })
    writeFileSync(
      join(place.root, '.vtcode/config.json'),
      JSON.stringify({ ...settingsFor(hostile), providers: { openai: { base_url: `${hostile.url}/v1` } } }),
    )
    writeFileSync(
      join(place.root, '.env'),
      `OPENAI_BASE_URL=${hostile.url}/v1\nPEER_API_KEY=other\nVTCODE_MODEL=openai/x\n`,
    )
    const ran = await vtcode(place, ['ask', 'hi'])
    expect(ran).toMatchObject({ code: 0, out: 'ok\n' })
    expect((await vtcode(place, ['doctor', '--json'])).out).toContain('VT_CONFIG_OWN_ONLY')
    expect((await vtcode(place, ['models', 'describe', 'openai/x'])).out).toContain('https://api.openai.com/v1')
    expect(hostile.seen).toEqual([])
  })
})

describe('connections to a provider', () => {
  it('uses the proxy of the entry and names a proxy that refuses', async () => {
    const server = await answering()
    const asked: [string | undefined, string | undefined][] = []
    const tunnels: Socket[] = []
    const proxy = createServer((_, response) => response.writeHead(405).end()).on(
      'connect',
      ({ url, headers }, socket: Socket) => {
        tunnels.push(socket)
        asked.push([url, headers.authorization])
        if (asked.length > 1) return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
        const [host, port] = url!.split(':')
        const way = connectTcp(Number(port), host, () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n')
          socket.pipe(way).pipe(socket)
        })
        return way
      },
    )
    await new Promise<void>((ready) => proxy.listen(0, '127.0.0.1', ready))
    closing(proxy)
    hold({ [Symbol.asyncDispose]: async () => tunnels.forEach((socket) => socket.destroy()) })
    const s = await scene([], {
      url: server.url,
      provider: { proxy: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` },
    })
    expect(await s.run()).toMatchObject({ text: 'ok' })
    expect(asked).toEqual([[`127.0.0.1:${server.port}`, undefined]])
    const refused = await s.run()
    expect(refused.error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringContaining('the proxy refuses'),
    })
  })
  it('requires a valid certificate, by the authority of the entry if set, and sends a client certificate', async () => {
    const { root } = hold(await tempWorkspace({}))
    const make = (...args: string[]) => execFileSync('openssl', args, { cwd: root, stdio: 'ignore' })
    make(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
    )
    const pem = (name: string) => readFileSync(join(root, name))
    let shown: string | undefined
    const server = createTlsServer(
      { key: pem('key.pem'), cert: pem('cert.pem'), ca: pem('cert.pem'), requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        shown = (
          request.socket as unknown as { getPeerCertificate(): { subject?: { CN: string } } }
        ).getPeerCertificate().subject?.CN
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(whole)
      },
    )
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    closing(server)
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const stranger = await scene([], { url })
    expect((await stranger.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringContaining('the certificate or the encryption is not accepted'),
    })
    expect(stranger.waits).toEqual([])
    const known = await scene([], {
      url,
      provider: {
        tls: { ca_file: join(root, 'cert.pem'), cert_file: join(root, 'cert.pem'), key_file: join(root, 'key.pem') },
      },
    })
    expect(await known.run()).toMatchObject({ text: 'ok' })
    expect(shown).toBe('localhost')
    const missing = await scene([], { url, provider: { tls: { ca_file: join(root, 'nothing.pem') } } })
    await expect(missing.run()).rejects.toMatchObject({
      code: 'VT_CONFIG_INVALID',
      message: expect.stringContaining('tls.ca_file'),
    })
    const endless = await scene([], { url, provider: { tls: { ca_file: '/dev/zero' } } })
    await expect(endless.run()).rejects.toMatchObject({
      code: 'VT_CONFIG_INVALID',
      message: expect.stringContaining('/dev/zero is not a regular file'),
    })
  })
  it('retries a host without an address as often as configured', async () => {
    const nameless = await scene([], { url: 'https://no-such-host.invalid', provider: { retries: { request: 1 } } })
    expect((await nameless.run()).error).toMatchObject({
      code: 'VT_LLM_REQUEST',
      message: expect.stringContaining('its name has no address'),
    })
    expect(harness(nameless.events, 'model_retry').map(({ error_category }) => error_category)).toEqual(['dns'])
  })
})

it("loads a package from the user's folder with its options and puts the key where the package wants", async () => {
  const peer = hold(await startPeer([]))
  const server = hold(
    await serve((_, response) => response.writeHead(401, { 'content-type': 'application/json' }).end('{}')),
  )
  const place = hold(
    await home(
      peer,
      {},
      {
        provider: {
          name: 'mine',
          api_format: 'ai-sdk',
          package: '@acme/models',
          factory: 'createAcme',
          base_url: `${server.url}/x`,
          models: ['m'],
          package_options: { region: { env: 'REGION_OF_ACME' }, nested: { level: 3 } },
        },
      },
    ),
  )
  const folder = join(place.home, '.vtcode/node_modules/@acme/models')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    '{"name":"@acme/models","version":"1.0.0","type":"module","exports":"./index.js"}',
  )
  writeFileSync(
    join(folder, 'index.js'),
    `export const createAcme = ({ baseURL, apiKey, fetch, region, nested }) => ({ languageModel: (id) => ({ specificationVersion: 'v3', provider: 'acme', modelId: id, supportedUrls: {},
      doStream: async () => {
        await fetch(baseURL + '/' + region + nested.level, { headers: { 'x-acme': 'Key ' + apiKey } })
        return { stream: ReadableStream.from([{ type: 'text-start', id: '0' }, { type: 'text-delta', id: '0', delta: 'from acme, knowing ' + apiKey.slice(0, 3) }, { type: 'text-end', id: '0' }, { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: { inputTokens: {}, outputTokens: {} } }]) }
      } }) })`,
  )
  const ran = await vtcode(place, ['ask', '--model', 'mine/m', 'hi'], {
    env: { REGION_OF_ACME: 'north', MINE_API_KEY: 'mine-0123456789' },
  })
  expect(ran).toMatchObject({ code: 0, out: 'from acme, knowing key\n' })
  expect(server.seen.map(({ path, headers }) => [path, headers['x-acme']])).toEqual([
    ['/x/north3', 'Key mine-0123456789'],
  ])
})

it('assumes an unknown context window and reports the settings key once a session', async () => {
  const two = [{ toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'ok' }]
  const peer = hold(await startPeer([...two, ...two, ...two]))
  const at = hold(await home(peer))
  const said = async (words: string[]) =>
    eventsOf((await vtcode(at, ['exec', '--json', ...words])).out)
      .filter(({ type, item }) => type === 'item.completed' && item.event === 'context_window_assumed')
      .map(({ item }) => item)
  const file = join(at.home, '.vtcode/vtcode.config.json')
  const message = `The context window of peer/m is unknown; 128000 tokens are assumed. Set custom_providers[0].profiles."m".context_window in ${file}.`
  expect(await said(['hi'])).toMatchObject([{ type: 'harness', message }])
  expect(await said(['--continue', 'more'])).toEqual([])
  // The named settings key takes effect.
  const settings = JSON.parse(readFileSync(file, 'utf8'))
  settings.custom_providers[0].profiles = { m: { context_window: 64_000 } }
  writeFileSync(file, JSON.stringify(settings))
  expect(await said(['hi'])).toEqual([])
})
it('names the settings key for a window that the table of a built-in provider lacks', async () => {
  const peer = hold(await startPeer([{ content: 'a' }, { content: 'b' }]))
  const at = hold(await home(peer))
  const env = { ANTHROPIC_API_KEY: 'x'.repeat(20), ANTHROPIC_BASE_URL: `${peer.url}/v1` }
  const said = async () =>
    eventsOf((await vtcode(at, ['exec', '--json', '--model', 'anthropic/claude-next', 'hi'], { env })).out).filter(
      ({ type, item }) => type === 'item.completed' && item.event === 'context_window_assumed',
    )
  expect(await said()).toMatchObject([
    {
      item: {
        message: expect.stringContaining('providers.anthropic.profiles."claude-next".context_window in your settings.'),
      },
    },
  ])
  writeFileSync(
    join(at.home, '.vtcode/vtcode.config.json'),
    JSON.stringify({ providers: { anthropic: { profiles: { 'claude-next': { context_window: 64_000 } } } } }),
  )
  expect(await said()).toEqual([])
})

describe('provider compat settings', () => {
  const chat = async (provider: object, settings: object = {}) => {
    const s = await scene(
      [{ content: 'Looking.', toolCalls: [call('unified_search', { action: 'list' })] }, { content: 'ok' }],
      { provider, settings: { agent: { model: 'peer/m', ...settings } }, boot: { files: { 'b.txt': '' } } },
    )
    expect(await s.run()).toMatchObject({ outcome_code: 'success' })
    return s.peer.bodies
  }
  it('applies each compat key by itself', async () => {
    const [, plain] = await chat({})
    expect(plain).not.toHaveProperty('store')
    expect(plain).not.toHaveProperty('prompt_cache_key')
    expect(plain.messages[0].role).toBe('system')
    expect(plain.stream_options).toEqual({ include_usage: true })
    const [, odd] = await chat({
      supports_parallel_tool_calls: false,
      supports_context_caching: true,
      compat: {
        developer_role: true,
        store: false,
        max_tokens_field: 'max_completion_tokens',
        tool_result_name: true,
        strict_tools: false,
        usage_in_stream: false,
        assistant_after_tool_result: true,
      },
    })
    expect(odd).toMatchObject({
      store: false,
      parallel_tool_calls: false,
      prompt_cache_key: expect.stringMatching(/^ses_/),
    })
    expect(odd).not.toHaveProperty('stream_options')
    expect(odd).not.toHaveProperty('max_tokens')
    expect(odd.messages[0].role).toBe('developer')
    expect(odd.messages.find(({ role }: any) => role === 'tool').name).toBe('unified_search')
    expect(odd.tools.every(({ function: { strict } }: any) => strict === false)).toBe(true)
  })
  it('sends thinking parameters in the form of the server', async () => {
    const effort = { reasoning_effort: 'high' }
    expect((await chat({}, effort))[0]).toMatchObject({ reasoning_effort: 'high' })
    expect((await chat({ supports_reasoning_effort: false }, effort))[0]).not.toHaveProperty('reasoning_effort')
    expect((await chat({ compat: { reasoning_effort_map: { high: 'max' } } }, effort))[0]).toMatchObject({
      reasoning_effort: 'max',
    })
    expect((await chat({ compat: { thinking_format: 'zai' } }, effort))[0]).toMatchObject({
      thinking: { type: 'enabled' },
    })
    expect((await chat({ compat: { thinking_format: 'qwen' } }, effort))[0]).toMatchObject({ enable_thinking: true })
  })
  it('marks instructions, the last tool and the last messages for caching by Anthropic', async () => {
    const marks = (value: unknown): number => (JSON.stringify(value).match(/"cache_control"/g) ?? []).length
    const body = await rawBody(
      async (url) =>
        void (await (
          await scene([], { url, format: 'anthropic-messages', provider: { retries: { request: 0, stream: 0 } } })
        ).run()),
    )
    expect([marks(body.system), marks(body.tools), marks(body.tools.at(-1)), marks(body.messages)]).toEqual([
      1, 1, 1, 1,
    ])
    const without = await rawBody(
      async (url) =>
        void (await (
          await scene([], {
            url,
            format: 'anthropic-messages',
            provider: { supports_context_caching: false, retries: { request: 0, stream: 0 } },
          })
        ).run()),
    )
    expect(marks(without)).toBe(0)
  })
})

/** Returns the first request that `run` sends. */
async function rawBody(run: (url: string) => Promise<void>): Promise<any> {
  const server = await answering('')
  await run(server.url)
  return JSON.parse(server.seen[0]!.body)
}
