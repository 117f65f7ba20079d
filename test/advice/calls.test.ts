import { bootKernel, type Boot, type Booted } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { serve } from '../support/server.js'
import { pluginSituations } from './plugin_situations.js'
import { files, situations, type Call, type Step } from './situations.js'
import { pages, webSituations } from './web_situations.js'

// Each advice of a failed call is followed in the situation that produced it.

const bootSituation = ({ files: more, config, ...boot }: Boot = {}): Promise<Booted> =>
  bootKernel({ files: { ...files, ...more }, config: { sandbox: { mode: 'off' }, ...config }, ...boot })

/** Returns the calls that a hint shows as examples. */
function readExampleCalls(hint: string): Call[] {
  return [...hint.matchAll(/(?<=Example: |\} )(\w+) (?=\{)/g)].map(({ 0: whole, 1: tool, index }) => [
    tool!,
    parseFirstObject(hint.slice(index + whole.length)),
  ])
}

function parseFirstObject(text: string): Record<string, unknown> {
  for (let end = text.indexOf('}'); end !== -1; end = text.indexOf('}', end + 1)) {
    try {
      return JSON.parse(text.slice(0, end + 1)) as Record<string, unknown>
    } catch {
      // The object ends at a later brace.
    }
  }
  throw new Error(`No object: ${text}`)
}

const show = ([tool, input]: Call): string => `${tool} ${JSON.stringify(input).slice(0, 200)}`

describe('the advice of a call', () => {
  it.each(
    [...situations, ...pluginSituations].map(
      (one) => [one.when ? `${one.code}, when ${one.when}` : one.code, one] as const,
    ),
  )('succeeds when it is followed after %s', async (_, { boot, code, before = [], call, advice, then = [] }) => {
    await using booted = await bootSituation(boot)
    const follow = async (one: Step) => {
      if (typeof one === 'function') return one(booted)
      const [tool, input] = one
      const result = await booted.call(tool, input)
      expect(result.ok ? 'ok' : `${result.error.code}: ${result.error.message}`, show(one)).toBe('ok')
    }
    for (const one of before) await follow(one)
    const result = await booted.call(...(typeof call === 'function' ? call(booted) : call))
    const codes = [...(result.notices ?? []).map((notice) => notice.code), ...(result.ok ? [] : [result.error.code])]
    expect(codes, JSON.stringify(result)).toContain(code)
    const hint = result.ok ? '' : result.error.hint
    if (advice) expect(hint).toMatch(advice)
    // A hint leads somewhere: to a call below, to a next call, or to an example.
    const next = result.ok ? undefined : result.error.next
    const examples = readExampleCalls(hint)
    expect(then.length + examples.length + (next ? 1 : 0)).toBeGreaterThan(0)
    if (next) await follow([next.tool, next.input])
    for (const one of then) await follow(one)
    if (examples.length === 0) return
    await using fresh = await bootSituation()
    for (const one of examples) {
      const [tool, input] = one
      const answer = await fresh.call(tool, input)
      expect(answer.ok ? 'ok' : `${answer.error.code}: ${answer.error.message}`, show(one)).toBe('ok')
    }
  })
})

describe('the advice of a fetch', () => {
  it.each(webSituations.map((one) => [one.code, one] as const))(
    'succeeds when it is followed after %s',
    async (code, { url, input, advice, then }) => {
      await using server = await serve(pages)
      await using booted = await bootKernel({ config: { web: { private_hosts: ['127.0.0.1'] } } })
      const address = url.startsWith('/') ? server.url + url : url
      const refused = await booted.call('unified_search', { action: 'web', url: address, ...input })
      expect(refused).toMatchObject({ ok: false, error: { code, hint: expect.stringMatching(advice) } })
      const fetched = await booted.call('unified_search', { action: 'web', url: server.url + then })
      expect(fetched).toMatchObject({ ok: true, text: expect.stringContaining('Text of a page.') })
    },
  )
})
