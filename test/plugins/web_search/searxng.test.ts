import { bootKernel } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { page, redirect, serve, type Answering } from '../../support/server.js'

const results = [
  { title: 'Tapable', url: 'https://github.com/webpack/tapable', content: 'Hooks.', engine: 'x' },
  { title: 'Local', url: 'file:///etc/passwd', content: '' },
  { title: 7, url: null },
]
const found = page(JSON.stringify({ query: 'q', results }), 'application/json')

/** The result of a search on a SearXNG server that is `answering`. */
async function searched(answering: Answering, options: object = {}, base = ''): Promise<any> {
  await using server = await serve(answering)
  await using booted = await bootKernel({
    config: {
      web: { private_hosts: ['127.0.0.0/8'], search: { provider: 'searxng' } },
      plugins: { settings: { 'builtin:searxng': { options: { base_url: `${server.url}${base}`, ...options } } } },
    },
  })
  return { ...(await booted.call('web_search', { query: 'tapable hooks' })), seen: server.seen }
}

describe('web_search on a SearXNG server', () => {
  it.each(['', '/', '/searx', '/searx/'])(
    'searches a SearXNG server below %j once the settings name it',
    async (base) => {
      const { output, seen } = await searched(found, {}, base)
      expect(output).toMatchObject({
        provider: 'searxng',
        count: 1,
        results: [{ title: 'Tapable', url: 'https://github.com/webpack/tapable', snippet: 'Hooks.' }],
      })
      expect(seen[0].path).toBe(`${base.replace(/\/$/, '')}/search?q=tapable+hooks&format=json`)
    },
  )

  it('returns an empty list when SearXNG finds nothing', async () => {
    expect((await searched(page('{"results":[]}', 'application/json'))).output.results).toEqual([])
  })

  it.each(['<html>', '{}', '[]', 'null'])('refuses %s as an answer of SearXNG', async (body) => {
    expect((await searched(page(body, 'text/html'))).error.code).toBe('VT_WEB_PARSE')
  })

  it('names base_url when the settings give no SearXNG server', async () => {
    const { error } = await searched(found, { base_url: '' })
    expect(error).toMatchObject({ code: 'VT_CONFIG_INVALID', message: expect.stringContaining('base_url') })
  })

  it('sends the headers of the settings to the SearXNG server and none to a redirect target', async () => {
    await using other = await serve(found, '127.0.0.2')
    const { ok, seen } = await searched(redirect(`${other.url}/x`), {
      headers: { authorization: 'Bearer secret', 'x-key': 'k' },
    })
    expect(ok).toBe(true)
    expect(seen[0].headers).toMatchObject({ authorization: 'Bearer secret', 'x-key': 'k' })
    expect(other.seen[0]!.headers).not.toHaveProperty('authorization')
    expect(other.seen[0]!.headers).not.toHaveProperty('x-key')
  })
})
