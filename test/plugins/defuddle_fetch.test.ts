import { bootKernel, testAction } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { asDeclared } from '../support/answers.js'
import { page, redirect, serve, type Answering } from '../support/server.js'

// A public address that needs no resolver; nothing is sent to it.
const url = 'http://93.184.216.34/article?page=2'
const next = { tool: 'unified_search', input: { action: 'web', url } }

/** A kernel whose reader service is `answering`. */
async function service(answering: Answering, defuddle: object = {}) {
  const server = await serve(answering)
  const booted = await bootKernel({
    config: {
      web: { private_hosts: ['127.0.0.1', '10.0.0.0/8'], defuddle: { base_url: `${server.url}/`, ...defuddle } },
    },
  })
  return {
    server,
    fetch: async (input: object = {}, session?: string): Promise<any> =>
      asDeclared('defuddle_fetch', await booted.call('defuddle_fetch', { url, ...input }, session ? { session } : {})),
    async [Symbol.asyncDispose]() {
      await booted[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
const markdown = page('# Title\n\nText.', 'text/markdown; charset=utf-8')

describe('defuddle_fetch: service', () => {
  it('sends the address to the service and returns Markdown', async () => {
    await using reader = await service(markdown)
    const { output, text } = await reader.fetch()
    expect(output).toEqual({
      url,
      markdown: '# Title\n\nText.',
      bytes: 14,
      truncated: false,
      used_this_session: 1,
      session_cap: 1,
    })
    expect(reader.server.seen[0]!.path).toBe(`/${url}`)
    expect(text).toContain(`--- end of ${url}`)
  })

  it('returns as many bytes as requested, cut between characters', async () => {
    await using reader = await service(page('ä'.repeat(2000), 'text/markdown'))
    const { output } = await reader.fetch({ max_bytes: 1025 })
    expect(output).toMatchObject({ markdown: 'ä'.repeat(512), truncated: true })
  })

  it('asks the service once a session', async () => {
    await using reader = await service(markdown)
    await reader.fetch()
    const { error } = await reader.fetch()
    expect(error).toMatchObject({ code: 'VT_WEB_CAP', retryable: false, next })
    expect(error.hint).toBe('Waiting does not help. Fetch the page from here with unified_search web.')
    expect((await reader.fetch({}, 'another')).ok).toBe(true)
    expect(reader.server.seen.length).toBe(2)
  })

  it('answers one of many parallel calls and asks the service once', async () => {
    await using reader = await service(markdown)
    const results = await Promise.all(Array.from({ length: 5 }, () => reader.fetch()))
    expect(results.filter(({ ok }) => ok).length).toBe(1)
    expect(reader.server.seen.length).toBe(1)
  })

  it.each([
    ['an error', (_, response) => response.writeHead(502).end(), 'VT_WEB_HTTP'],
    ['a redirect', redirect('https://example.org/'), 'VT_WEB_HTTP'],
  ] as [string, Answering, string][])('counts %s as an answer of the service', async (_, answering, code) => {
    await using reader = await service(answering)
    expect((await reader.fetch()).error).toMatchObject({ code, next })
    expect((await reader.fetch()).error.code).toBe('VT_WEB_CAP')
    expect(reader.server.seen.length).toBe(1)
  })

  it('charges nothing for an unreachable service, three times', async () => {
    await using reader = await service(markdown)
    await reader.server[Symbol.asyncDispose]()
    for (let attempt = 0; attempt < 3; attempt++)
      expect((await reader.fetch({ max_bytes: 2000 + attempt })).error).toMatchObject({
        code: 'VT_WEB_NETWORK',
        retryable: true,
        next,
      })
    expect((await reader.fetch()).error).toMatchObject({
      code: 'VT_WEB_CAP',
      message: expect.stringContaining('3 times'),
    })

    await using back = await serve(markdown, '127.0.0.1', reader.server.port)
    expect((await reader.fetch({}, 'another')).ok).toBe(true)
    expect(back.seen.length).toBe(1)
  })

  it('reaches a service again after it was unreachable once', async () => {
    await using reader = await service(markdown)
    await reader.server[Symbol.asyncDispose]()
    await reader.fetch()
    await using back = await serve(markdown, '127.0.0.1', reader.server.port)
    expect((await reader.fetch()).ok).toBe(true)
    expect(back.seen.length).toBe(1)
  })

  it('refuses a call when it is switched off and never allows more than one call a session', async () => {
    await using off = await service(markdown, { enabled: false })
    expect((await off.fetch()).error.code).toBe('VT_WEB_BLOCKED')
    await using none = await service(markdown, { max_calls_per_session: 0 })
    expect((await none.fetch()).error.code).toBe('VT_WEB_CAP')
    await using many = await service(markdown, { max_calls_per_session: 9 })
    expect((await many.fetch()).output.session_cap).toBe(1)
    expect((await many.fetch()).error.code).toBe('VT_WEB_CAP')
  })

  it('takes the service from the settings of the user, never from those of a workspace', async () => {
    await using server = await serve(markdown)
    await using booted = await bootKernel({
      files: { 'vtcode.config.yaml': `web: { defuddle: { base_url: "${server.url}/" } }\n` },
      config: { web: { private_hosts: ['127.0.0.1'], allow_hosts: ['127.0.0.1', '93.184.216.34'] } },
    })
    const result: any = await booted.call('defuddle_fetch', { url })
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'VT_WEB_BLOCKED', message: expect.stringContaining('defuddle.md') },
    })
    expect(server.seen).toEqual([])
  })
})

describe('defuddle_fetch: private address', () => {
  it.each([
    ['http://192.168.0.1/', 'VT_WEB_BLOCKED'],
    ['http://localhost/', 'VT_WEB_BLOCKED'],
    ['http://wiki.internal/', 'VT_WEB_BLOCKED'],
    ['http://[::ffff:10.0.0.1]/', 'VT_WEB_BLOCKED'],
    // Exempt in these settings, and still not sent to the service.
    ['http://10.1.2.3/', 'VT_WEB_BLOCKED'],
    ['http://127.0.0.1:8080/', 'VT_WEB_BLOCKED'],
    ['https://user:secret@example.org/', 'VT_WEB_URL'],
    ['file:///etc/passwd', 'VT_WEB_URL'],
  ])('sends no address such as %s to the service', async (inner, code) => {
    await using reader = await service(markdown)
    expect((await reader.fetch({ url: inner })).error.code).toBe(code)
    expect(reader.server.seen).toEqual([])
    expect((await reader.fetch()).ok).toBe(true)
  })
})

for (const { title, missing, run } of testAction('defuddle_fetch'))
  it.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (SKIPPED: needs ${missing.join(', ')})` : title, run)
