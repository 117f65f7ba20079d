import { readFileSync } from 'node:fs'
import { bootKernel, testAction, type Boot } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { asDeclared } from '../support/answers.js'
import { page, serve, type Answering } from '../support/server.js'

const recorded = (name: string): Answering =>
  page(readFileSync(new URL(`../fixtures/duckduckgo/${name}.html`, import.meta.url), 'utf8'))

/** A kernel whose DuckDuckGo is `answering`, without a pause between searches unless `search` says one. */
async function engine(answering: Answering, search: object = { min_interval_secs: 0 }, boot: Boot = {}) {
  const server = await serve(answering)
  const options = { endpoint: `${server.url}/html/` }
  const booted = await bootKernel({
    ...boot,
    config: {
      web: { private_hosts: ['127.0.0.1'], search },
      plugins: { settings: { 'builtin:web_search': { options } } },
    },
  })
  return {
    server,
    find: async (input: object, session?: string): Promise<any> =>
      asDeclared('web_search', await booted.call('web_search', input, session ? { session } : {})),
    async [Symbol.asyncDispose]() {
      await booted[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('web_search: DuckDuckGo results', () => {
  it('reads a page of results in order, unwrapped, without advertisements, duplicates and other schemes', async () => {
    await using duck = await engine(recorded('results'))
    const { output } = await duck.find({ query: ' tapable hooks ' })
    expect(output).toEqual({
      query: 'tapable hooks',
      provider: 'duckduckgo',
      count: 3,
      cached: false,
      requests_left: 11,
      results: [
        {
          title: 'GitHub - webpack/tapable: Just a little module for plugins.',
          url: 'https://github.com/webpack/tapable',
          snippet: "Tapable exposes many Hook classes & can be used to create hooks for plugins – it's small.",
        },
        {
          title: 'Plugin API | webpack',
          url: 'https://webpack.js.org/api/plugins/?utm_source=ddg#tapable',
          snippet: 'Plugins are a key piece of the webpack ecosystem.',
        },
        { title: 'tapable - npm', url: 'https://www.npmjs.com/package/tapable?x=1&y=2', snippet: '' },
      ],
    })
  })

  it('sends the search as a form without a key or a cookie', async () => {
    await using duck = await engine(recorded('results'))
    await duck.find({ query: 'a & b=c' })
    const [{ method, path, body, headers }] = duck.server.seen as [any]
    expect({ method, path }).toEqual({ method: 'POST', path: '/html/' })
    expect(new URLSearchParams(body).get('q')).toBe('a & b=c')
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('authorization')
  })

  it('cuts the results at max_results and renders them as a list between marks', async () => {
    await using duck = await engine(recorded('results'))
    const { output, text } = await duck.find({ query: 'tapable', max_results: 2 })
    expect(output.count).toBe(2)
    expect(text).toMatch(
      /--- results of duckduckgo: .*\[[0-9a-f]{12}\]\n1\. GitHub - webpack\/tapable.*\n {3}https:\/\/github\.com\/webpack\/tapable\n {3}Tapable exposes/,
    )
  })

  it('returns an empty list for a page that reports no results', async () => {
    await using duck = await engine(recorded('none'))
    expect(await duck.find({ query: 'qzxv' })).toMatchObject({ ok: true, output: { count: 0, results: [] } })
  })

  it('fails on a page that is not a page of results, instead of an empty list', async () => {
    for (const body of ['<html><body>Hello</body></html>', '', '<div class="results"></div>', '{"results":[]}']) {
      await using duck = await engine(page(body))
      expect((await duck.find({ query: 'x' })).error, body).toMatchObject({ code: 'VT_WEB_PARSE', retryable: false })
    }
  })

  it('reads hostile markup in linear time', async () => {
    const began = Date.now()
    for (const part of [
      '<div class="result ',
      '<a class="result__a" href="',
      '<div class="result "><a class="result__a" href="x">',
      '<b>',
      '<a class="result__snippet">',
      '"result__a"',
    ]) {
      await using duck = await engine(page(part.repeat(Math.floor(900_000 / part.length))))
      await duck.find({ query: 'x' })
    }
    expect(Date.now() - began).toBeLessThan(10_0000)
  })
})

describe('web_search: refusal by the engine', () => {
  it.each([
    ['by its page', recorded('challenge')],
    [
      'by status 202',
      ((_, response) => response.writeHead(202, { 'content-type': 'text/html' }).end('<html></html>')) as Answering,
    ],
    ['by status 403', ((_, response) => response.writeHead(403).end()) as Answering],
    ['by status 429', ((_, response) => response.writeHead(429).end()) as Answering],
  ])('recognises a refusal %s', async (_, answering) => {
    await using duck = await engine(answering)
    const { error } = await duck.find({ query: 'x' })
    expect(error).toMatchObject({ code: 'VT_WEB_REFUSED', retryable: true })
    expect(error.hint).toMatch(/minutes/)
  })
})

it('returns results that mention robots as results', async () => {
  const html = readFileSync(new URL('../fixtures/duckduckgo/results.html', import.meta.url), 'utf8').replace(
    'Cheap hooks.',
    'See https://duckduckgo.com/anomaly.js and id="challenge-form".',
  )
  await using duck = await engine(page(html))
  expect((await duck.find({ query: 'x' })).output.count).toBe(3)
})

describe('web_search: session limits', () => {
  it('limits the number of searches in a session, also for parallel calls', async () => {
    await using duck = await engine(recorded('results'), { min_interval_secs: 0, max_calls_per_session: 3 })
    const results = await Promise.all(Array.from({ length: 8 }, (_, i) => duck.find({ query: `q${i}` })))
    expect(results.filter(({ ok }) => ok).length).toBe(3)
    expect(results.filter(({ error }) => error?.code === 'VT_WEB_CAP' && !error.retryable).length).toBe(5)
    expect(duck.server.seen.length).toBe(3)
    expect((await duck.find({ query: 'q' }, 'another')).output.requests_left).toBe(2)
  })

  it('waits between two searches and reports the wait', async () => {
    await using duck = await engine(recorded('results'), { min_interval_secs: 3 })
    await duck.find({ query: 'a' })
    const { error } = await duck.find({ query: 'b' })
    expect(error).toMatchObject({ code: 'VT_WEB_COOLDOWN', retryable: true })
    expect(error.details.retry_after_ms).toBeGreaterThan(1000)
    expect(error.details.retry_after_ms).toBeLessThanOrEqual(3000)
    expect(duck.server.seen.length).toBe(1)
  })

  it('returns a remembered answer without a search, and not to another session', async () => {
    await using duck = await engine(recorded('results'), { min_interval_secs: 0 })
    await duck.find({ query: 'Tapable  Hooks' })
    expect((await duck.find({ query: 'tapable hooks' })).output).toMatchObject({
      cached: true,
      count: 3,
      requests_left: 11,
    })
    expect((await duck.find({ query: 'tapable hooks', max_results: 2 })).output).toMatchObject({
      cached: false,
      count: 2,
    })
    expect((await duck.find({ query: 'tapable hooks' }, 'another')).output.cached).toBe(false)
    expect(duck.server.seen.length).toBe(3)
  })

  it('refunds a search that reached no server', async () => {
    await using duck = await engine(recorded('results'))
    await duck.server[Symbol.asyncDispose]()
    expect((await duck.find({ query: 'a' })).error).toMatchObject({ code: 'VT_WEB_NETWORK', retryable: true })
    await using again = await serve(recorded('results'), '127.0.0.1', duck.server.port)
    expect((await duck.find({ query: 'b' })).output.requests_left).toBe(11)
    expect(again.seen.length).toBe(1)
  })

  it('charges for an answer that could not be read', async () => {
    let first = true
    await using duck = await engine((...all) =>
      first ? ((first = false), page('?')(...all)) : recorded('results')(...all),
    )
    await duck.find({ query: 'a' })
    expect((await duck.find({ query: 'b' })).output.requests_left).toBe(10)
  })
})

describe('web_search: address guard', () => {
  it('applies the address guard to the search engine too', async () => {
    await using server = await serve(recorded('results'))
    await using booted = await bootKernel({
      config: { plugins: { settings: { 'builtin:web_search': { options: { endpoint: server.url } } } } },
    })
    expect(await booted.call('web_search', { query: 'x' })).toMatchObject({ error: { code: 'VT_WEB_BLOCKED' } })
    expect(server.seen).toEqual([])
  })

  it('ignores an engine that the settings of a workspace choose', async () => {
    await using server = await serve(recorded('results'))
    const settings = `web: { private_hosts: ["*"] }\nplugins: { settings: { "builtin:web_search": { options: { endpoint: "${server.url}" } } } }\n`
    await using booted = await bootKernel({
      files: { 'vtcode.config.yaml': settings },
      config: { web: { allow_hosts: ['127.0.0.1'] } },
    })
    expect(await booted.call('web_search', { query: 'x' })).toMatchObject({ ok: false })
    expect(server.seen).toEqual([])
  })
})

for (const { title, missing, run } of testAction('web_search'))
  it.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (SKIPPED: needs ${missing.join(', ')})` : title, run)
