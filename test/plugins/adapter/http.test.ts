import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import dns from 'node:dns'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Config, JsonObject, Result } from 'vtcode'
import { bootKernel, matches, tempWorkspace } from 'vtcode/test'

interface Seen {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}
interface Bench extends AsyncDisposable {
  seen: Seen[]
  origin: string
  call: (input?: JsonObject) => Promise<Result>
  diagnostics: () => { code: string; message: string }[]
}
const properties = {
  city: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
  n: { type: 'integer' },
  flag: { type: 'boolean' },
}

/** A kernel with one http tool and a server that answers it. */
async function bench(
  http: (origin: string) => JsonObject,
  more: JsonObject = {},
  config: Config = {},
  answer: (request: Seen, response: ServerResponse) => void = say({ ok: 'yes' }),
  env: Record<string, string> = {},
): Promise<Bench> {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = {
        method: request.method!,
        url: request.url!,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      seen.push(one)
      answer(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const manifest = {
    name: 'ask',
    description: 'Ask it.',
    input: { properties },
    ...more,
    http: { network: { private: true }, ...http(origin) },
  }
  const place = await tempWorkspace({ 'ask.yaml': JSON.stringify(manifest), 'key.txt': 'key-of-a-file\n' })
  const vt = await bootKernel({
    manifests: [join(place.root, 'ask.yaml')],
    config,
    env: { ASK_KEY: 'key-of-the-env', ...env },
  })
  return {
    seen,
    origin,
    call: (input = {}) => vt.call('ask', input),
    diagnostics: () => vt.kernel.diagnostics(),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await vt[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}
const say =
  (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  (_: Seen, response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

describe('http tool: request', () => {
  it('encodes any value as one segment of the path', async () => {
    await using made = await bench((origin) => ({ url: `${origin}/v1/cities/{city}/now` }))
    for (const city of ['New York', 'a?b=c', 'a#b', '%2e%2e', 'é', '{n}', '$&'])
      matches(await made.call({ city }), { ok: true })
    expect(made.seen.map(({ url }) => url)).toEqual(
      ['New%20York', 'a%3Fb%3Dc', 'a%23b', '%252e%252e', '%C3%A9', '%7Bn%7D', '%24%26'].map(
        (one) => `/v1/cities/${one}/now`,
      ),
    )
    for (const city of ['..', '.', 'a/b', 'a\0b'])
      matches(await made.call({ city }), { ok: false, error: { code: 'VT_HTTP_ARGUMENT' } })
    matches(await made.call({}), { ok: false, error: { code: 'VT_HTTP_ARGUMENT' } })
    expect(made.seen).toHaveLength(7)
  })

  it('encodes lists as path segments and repeated query pairs and leaves absent pairs out', async () => {
    await using made = await bench((origin) => ({
      url: `${origin}/{list...}?fixed=1`,
      query: { tag: '{list}', n: 'x{n}', both: '{city}-{n}' },
      headers: { 'X-Flag': '{flag}' },
    }))
    await made.call({ list: ['a', 'b c'], n: 3, flag: true })
    matches(made.seen[0], { url: '/a/b%20c?fixed=1&tag=a&tag=b+c&n=x3', headers: { 'x-flag': 'true' } })
  })

  it('builds a JSON body from values, never from text', async () => {
    const body = { json: { title: '{city}', labels: '{list}', deep: { n: '{n}', flag: '{flag}', text: 'n is {n}' } } }
    await using made = await bench((origin) => ({ url: `${origin}/x`, method: 'POST', body }), {
      effects: ['net', 'write'],
    })
    await made.call({ city: '","admin":true,"x":"', n: 1 })
    expect(JSON.parse(made.seen[0]!.body)).toEqual({ title: '","admin":true,"x":"', deep: { n: 1, text: 'n is 1' } })
    matches(made.seen[0], { method: 'POST', headers: { 'content-type': 'application/json' } })
  })

  it('builds form and text bodies', async () => {
    await using form = await bench((origin) => ({
      url: `${origin}/x`,
      method: 'PUT',
      body: { form: { a: '{city}', b: '{list}', c: '{n}' } },
    }))
    await form.call({ city: 'a&b=c', list: ['1', '2'] })
    matches(form.seen[0], { method: 'PUT', body: 'a=a%26b%3Dc&b=1&b=2' })
    await using text = await bench((origin) => ({
      url: `${origin}/x`,
      method: 'PATCH',
      body: { text: 'Hello {city}' },
    }))
    await text.call({ city: '{n}' })
    matches(text.seen[0], { method: 'PATCH', body: 'Hello {n}' })
  })

  it('refuses a value that begins another header and a manifest that frames the message', async () => {
    await using made = await bench((origin) => ({ url: `${origin}/x`, headers: { 'X-City': '{city}' } }))
    matches(await made.call({ city: 'a\r\nHost: evil' }), { ok: false, error: { code: 'VT_HTTP_ARGUMENT' } })
    await using framing = await bench((origin) => ({ url: `${origin}/x`, headers: { Host: 'evil' } }))
    matches(await framing.call({}), { ok: false, error: { code: 'VT_MANIFEST_INVALID' } })
    for (const url of ['https://{city}/x', 'https://a.example:{n}/x', '{city}', 'ftp://a/x']) {
      await using other = await bench(() => ({ url }))
      matches(await other.call({ city: 'a', n: 1 }), { ok: false, error: { code: 'VT_MANIFEST_INVALID' } })
    }
  })

  it('sends secrets that the user bound and shows them in no result', async () => {
    const needs = { secrets: { key: { description: 'The key.' } } }
    const auth = { type: 'bearer', value: { secret: 'key' } }
    const echo = ({ headers }: Seen, response: ServerResponse): void =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ got: headers.authorization }))
    for (const [bound, sent] of [
      [{ env: 'ASK_KEY' }, 'key-of-the-env'],
      [{ command: ['printf', 'key-of-a-program\n'] }, 'key-of-a-program'],
    ] as const) {
      await using made = await bench(
        (origin) => ({ url: `${origin}/x`, auth }),
        needs,
        { secrets: { 'call:key': bound } } as Config,
        echo,
      )
      const result = await made.call({})
      expect(made.seen[0]!.headers.authorization).toBe(`Bearer ${sent}`)
      matches(result, { ok: true, output: { got: 'Bearer [redacted:call:key]' } })
    }
    await using none = await bench((origin) => ({ url: `${origin}/x`, auth }), needs)
    matches(await none.call({}), {
      ok: false,
      error: { code: 'VT_SECRET_MISSING', message: 're:.*call:key.*', hint: 're:.*secrets:.*call:key.*' },
    })
    await using undeclared = await bench((origin) => ({ url: `${origin}/x`, auth }))
    expect(await undeclared.call({})).toMatchObject({ ok: false, error: { code: 'VT_SECRET_REFUSED' } })
    await using file = await bench((origin) => ({ url: `${origin}/x`, query: { k: { file: 'key.txt' } } }))
    matches(await file.call({}), { ok: true })
    expect(file.seen[0]!.url).toBe('/x?k=key-of-a-file')
  })
})

describe('http tool: secrets', () => {
  const needs = { secrets: { key: { description: 'The key.' } } }
  const auth = { type: 'bearer', value: { secret: 'key' } }
  const sent = (made: Bench): unknown[] => made.seen.map(({ headers }) => headers.authorization)

  it('reads a secret from the keychain of the system without a shell', async () => {
    if (process.platform === 'darwin') return
    const place = await tempWorkspace({ 'bin/secret-tool': '#!/bin/sh\nprintf "%s|" "$@"\n' })
    await chmod(join(place.root, 'bin/secret-tool'), 0o755)
    const bound = { keychain: { service: 'my team; x', account: '$(me)' } }
    await using made = await bench(
      (origin) => ({ url: `${origin}/x`, auth }),
      needs,
      { secrets: { 'call:key': bound } } as Config,
      undefined,
      { PATH: `${place.root}/bin:${process.env['PATH']}` },
    )
    matches(await made.call(), { ok: true })
    expect(sent(made)).toEqual(['Bearer lookup|service|my team; x|account|$(me)|'])
    await using none = await bench(
      (origin) => ({ url: `${origin}/x`, auth }),
      needs,
      { secrets: { 'call:key': bound } } as Config,
      undefined,
      { PATH: '/nonexistent' },
    )
    matches(await none.call(), {
      ok: false,
      error: { code: 'VT_SECRET_REFUSED', message: 're:.*secret-tool.*search path.*' },
    })
    await place[Symbol.asyncDispose]()
  })

  it('runs a secret command at every use, or caches its output for refresh_secs', async () => {
    const place = await tempWorkspace()
    const counting = (name: string, refresh_secs: number) => ({
      command: ['sh', '-c', `echo x >> ${place.root}/${name}; wc -l < ${place.root}/${name}`],
      refresh_secs,
    })
    for (const [name, refresh, expected] of [
      ['often', 0, ['Bearer 1', 'Bearer 2']],
      ['seldom', 60, ['Bearer 1', 'Bearer 1']],
    ] as const) {
      await using made = await bench((origin) => ({ url: `${origin}/x`, auth }), needs, {
        secrets: { 'call:key': counting(name, refresh) },
      } as Config)
      await made.call({ n: 1 })
      await made.call({ n: 2 })
      expect(sent(made)).toEqual(expected)
    }
    await place[Symbol.asyncDispose]()
  })
})

describe('http tool: response', () => {
  it('returns the whole document, the selected part or the text', async () => {
    await using part = await bench(
      (origin) => ({ url: `${origin}/x`, select: '/data/key' }),
      {},
      {},
      say({ data: { key: 'T-1' } }),
    )
    matches(await part.call(), { ok: true, output: { value: 'T-1' } })
    const plain = (_: Seen, response: ServerResponse): void =>
      void response.writeHead(200, { 'content-type': 'text/plain' }).end('hello')
    await using text = await bench((origin) => ({ url: `${origin}/x` }), {}, {}, plain)
    matches(await text.call(), { ok: true, output: { text: 'hello', status: 200 }, text: 'hello' })
    await using wrong = await bench((origin) => ({ url: `${origin}/x`, response: 'json' }), {}, {}, plain)
    matches(await wrong.call(), { ok: false, error: { code: 'VT_HTTP_TYPE' } })
  })

  it('redacts a secret in an error of a server before the text is cut', async () => {
    const token = `ghp_${'Ab0'.repeat(12)}`
    const answer =
      (status: number, before: number) =>
      (_: Seen, response: ServerResponse): void =>
        void response.writeHead(status, { 'content-type': 'text/plain' }).end(`${'x'.repeat(before)} ${token}`)
    await using failed = await bench((origin) => ({ url: `${origin}/x` }), {}, {}, answer(500, 490))
    const told = await failed.call()
    expect(told).toMatchObject({ ok: false, error: { code: 'VT_HTTP_STATUS' } })
    await using wrong = await bench((origin) => ({ url: `${origin}/x`, response: 'json' }), {}, {}, answer(200, 190))
    const unparsed = await wrong.call()
    expect(unparsed).toMatchObject({ ok: false, error: { code: 'VT_HTTP_TYPE' } })
    expect(JSON.stringify([told, unparsed])).not.toContain('ghp_')
  })

  it('reports another status as an error, mapped or with the start of the body, and marks those worth a retry', async () => {
    const status = { map: { 409: { code: 'ASK_EXISTS', message: 'There already.' } }, empty: ['404'] }
    for (const [code, expected] of [
      [
        500,
        {
          ok: false,
          error: { code: 'VT_HTTP_STATUS', retryable: true, details: { status: 500, body: '{"why":"x"}' } },
        },
      ],
      [400, { ok: false, error: { code: 'VT_HTTP_STATUS', retryable: false } }],
      [409, { ok: false, error: { code: 'ASK_EXISTS', message: 'There already.' } }],
      [404, { ok: true, output: {} }],
    ] as const) {
      await using made = await bench(
        (origin) => ({ url: `${origin}/x`, status }),
        { errors: { ASK_EXISTS: {} } },
        {},
        say({ why: 'x' }, code),
      )
      matches(await made.call(), expected)
    }
  })

  it('retries where the manifest says so, and only a request that changes nothing', async () => {
    let asked = 0
    const moody = (seen: Seen, response: ServerResponse): void =>
      say({ n: ++asked }, asked < 2 ? 503 : 200, { 'retry-after': '0' })(seen, response)
    await using made = await bench((origin) => ({ url: `${origin}/x`, retry: { attempts: 2 } }), {}, {}, moody)
    matches(await made.call(), { ok: true, output: { n: 2 } })
    asked = 0
    await using post = await bench(
      (origin) => ({ url: `${origin}/x`, method: 'POST', retry: { attempts: 2 } }),
      {},
      {},
      moody,
    )
    matches(await post.call(), { ok: false, error: { code: 'VT_HTTP_STATUS' } })
  })

  it('refuses a response that is too large or comes from another origin', async () => {
    await using large = await bench(
      (origin) => ({ url: `${origin}/x`, max_response_bytes: 100 }),
      {},
      {},
      say('x'.repeat(1000)),
    )
    matches(await large.call(), { ok: false, error: { code: 'VT_HTTP_SIZE' } })
    const away = (_: Seen, response: ServerResponse): void =>
      void response.writeHead(302, { location: 'http://localhost:9/x' }).end()
    await using moved = await bench((origin) => ({ url: `${origin}/x` }), {}, {}, away)
    matches(await moved.call(), { ok: false, error: { code: 'VT_HTTP_REDIRECT' } })
    const near = ({ url }: Seen, response: ServerResponse): void =>
      url === '/x'
        ? void response.writeHead(302, { location: '/y' }).end()
        : say({ at: url })(undefined as never, response)
    await using followed = await bench((origin) => ({ url: `${origin}/x` }), {}, {}, near)
    matches(await followed.call(), { ok: true, output: { at: '/y' } })
    const cut = (_: Seen, response: ServerResponse): void => void response.destroy()
    await using gone = await bench((origin) => ({ url: `${origin}/x` }), {}, {}, cut)
    matches(await gone.call(), { ok: false, error: { code: 'VT_HTTP_NETWORK', retryable: true } })
  })
})

it('resolves a host once for each connection, checks its address and connects to that address', async () => {
  const { lookup } = dns
  const asked: string[] = []
  const resolver = (...answers: string[]): void => {
    asked.length = 0
    dns.lookup = ((name: string, _: unknown, done: (error: Error | null, addresses: dns.LookupAddress[]) => void) => {
      done(null, [{ address: answers[Math.min(asked.push(name), answers.length) - 1]!, family: 4 }])
    }) as typeof dns.lookup
  }
  const named = (network: JsonObject) => (origin: string) => ({
    url: origin.replace('127.0.0.1', 'name.example.org').replace('http:', network['http'] ? 'http:' : 'https:'),
    network,
  })
  try {
    await using closed = await bench(named({}))
    for (const address of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.0.2.1']) {
      resolver(address)
      matches(await closed.call({ city: address }), {
        ok: false,
        error: { code: 'VT_HTTP_BLOCKED', message: 're:.*name\\.example\\.org.*' },
      })
    }
    expect(closed.seen).toEqual([])
    dns.lookup = lookup
    await using open = await bench(named({ private: true, http: true }))
    resolver('127.0.0.1', '127.0.0.9')
    matches(await open.call(), { ok: true })
    expect(asked).toEqual(['name.example.org'])
    expect(open.seen[0]!.headers.host).toMatch(/^name\.example\.org:/)
  } finally {
    dns.lookup = lookup
  }
})

it('refuses a host that is not public unless a manifest of the user allows it', async () => {
  await using made = await bench((origin) => ({ url: `${origin}/x`, network: {} }))
  matches(await made.call(), { ok: false, error: { code: 'VT_HTTP_BLOCKED' } })
  expect(made.seen).toEqual([])
  await using plain = await bench(() => ({ url: 'http://example.org/x' }))
  matches(await plain.call(), { ok: false, error: { code: 'VT_MANIFEST_INVALID', message: 're:.*plain http.*' } })
})

it('lists the effect net for an http tool, and write unless its method only reads', async () => {
  const place = await tempWorkspace({
    'get.yaml': 'name: get_it\ndescription: Get.\nhttp: { url: "https://example.org/" }\n',
    'put.yaml': 'name: put_it\ndescription: Put.\nhttp: { url: "https://example.org/", method: PUT }\n',
  })
  await using vt = await bootKernel({ manifests: [place.root] })
  const effects = Object.fromEntries(vt.kernel.list().map(({ slot, effects }) => [slot, effects]))
  expect([effects['get_it'], effects['put_it']]).toEqual([['net'], ['net', 'write']])
  await place[Symbol.asyncDispose]()
})
