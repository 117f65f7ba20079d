import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import type { Asker, Config, Timeouts } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted } from 'vtcode/test'
import { remote } from '../../../support/remote.js'

const fixture = fileURLToPath(new URL('../../../fixtures/mcp/server.mjs', import.meta.url))
const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'mcp__*'] } }
const tools = (...names: string[]): string =>
  JSON.stringify(
    names.map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
    })),
  )
const boot = (server: object, timeouts: Partial<Timeouts> = {}): Promise<Booted> =>
  bootKernel({ timeouts, config: { automation, mcp: { servers: { s: server } } } as Config })

it('leaves a server that fails six times in a row alone until a reload and serves everything else', async () => {
  await using place = await tempWorkspace({ 'tools.json': tools('die', 'echo') })
  await using vt = await boot(
    { command: process.execPath, args: [fixture, place.root], startup_timeout_secs: 20 },
    { restart: 20 },
  )
  const starts = async (): Promise<number> => (await place.read('starts'))!.split('\n').length - 1
  matches(await vt.call('mcp__s__die', {}), { ok: false, error: { code: 'VT_MCP_DISCONNECTED' } })
  await writeFile(join(place.root, 'dead'), 'true')
  // The pause before a start doubles: 1, 2, 4, 8, 16 times the shortest one.
  const began = Date.now()
  for (let n = 0; n < 5; n++)
    matches(await vt.call('mcp__s__echo', { n }), {
      ok: false,
      error: { code: 'VT_MCP_START', details: { stderr_tail: 're:.*no licence.*' } },
    })
  expect(Date.now() - began).toBeGreaterThan(600)
  const before = await starts()
  expect(before).toBeGreaterThanOrEqual(6)
  matches(await vt.call('mcp__s__echo', {}), {
    ok: false,
    error: { code: 'VT_MCP_START', message: 're:.*6 times in a row.*not started again.*' },
  })
  expect(await starts()).toBe(before)
  matches(
    vt.kernel.inspection.contributions().find(({ id }) => id === 'call:s'),
    { state: 'quarantined', reason: 're:.*6 times.*' },
  )
  matches(await vt.call('unified_search', { action: 'list' }), { ok: true })
  await rm(join(place.root, 'dead'))
  await vt.kernel.reload()
  matches(await vt.call('mcp__s__echo', { n: 1 }), { ok: true })
})

it('quotes the last line of a server that cannot start, and no part of a secret in a long one', async () => {
  const secret = 'sk-0123456789abcdefghij'
  await using vt = await boot({
    command: '/bin/sh',
    args: ['-c', `printf '%s%s\\n' '${'.'.repeat(190)}' "$API_TOKEN" >&2; exit 1`],
    env: { API_TOKEN: secret },
  })
  await vt.call('mcp__s__echo', {})
  const [{ message = '' } = {}] = vt.kernel.diagnostics().filter(({ code }) => code === 'VT_MCP_START')
  expect(message).toMatch(/it printed '\.{20}.*API_TOKEN/)
  expect(message).not.toContain(secret.slice(0, 6))
})

it('forwards a question of a server to a caller that can be asked, declines it otherwise, and refuses sampling', async () => {
  await using place = await tempWorkspace({ 'tools.json': tools('elicit', 'sample', 'roots') })
  await using vt = await boot({ command: process.execPath, args: [fixture, place.root] })
  const seen: string[] = []
  const asker =
    (answers: Awaited<ReturnType<Asker>>): Asker =>
    async (questions) => {
      seen.push(
        ...questions.map(
          ({ id, header, question, options }) =>
            `${id}: ${header}: ${question.split('\n').join('|')} ${(options ?? []).map(({ label }) => label).join('/')}`,
        ),
      )
      return answers
    }
  const elicited = (ask?: Asker) => vt.call('mcp__s__elicit', {}, ask && { ask })
  matches(await elicited(asker({ colour: { selected: ['blue'] }, count: { selected: [], other: '3' } })), {
    ok: true,
    output: { result: { action: 'accept', content: { colour: 'blue', count: 3 } } },
  })
  expect(seen).toEqual([
    'colour: call:s: The MCP server call:s asks: > Which one? > colour red/blue',
    'count: call:s: The MCP server call:s asks: > count ',
  ])
  matches(await elicited(asker(undefined)), { ok: true, output: { result: { action: 'decline' } } })
  matches(await elicited(asker({ count: { selected: [], other: '3' } })), {
    ok: true,
    output: { result: { action: 'decline' } },
  })
  matches(await elicited(), { ok: true, output: { result: { action: 'decline' } } })
  matches(await vt.call('mcp__s__sample', {}), { ok: true, output: { error: { code: -32601 } } })
  matches(await vt.call('mcp__s__roots', {}), {
    ok: true,
    output: { result: { roots: [{ uri: `file://${vt.root}` }] } },
  })
})

it('forwards a question of a server to the only caller of the active calls, and declines it among several', async () => {
  await using place = await tempWorkspace({ 'tools.json': tools('elicit', 'hang') })
  await using vt = await boot({ command: process.execPath, args: [fixture, place.root] })
  const asked: string[] = []
  const asker =
    (name: string): Asker =>
    async (questions) => {
      asked.push(name)
      return { [questions[0]!.id]: { selected: ['red'] } }
    }
  const stop = new AbortController()
  const other = vt.kernel.call('mcp__s__hang', {}, { session: 'other', signal: stop.signal, ask: asker('other') })
  await expect.poll(() => place.read('hanging')).toBe('.')
  asked.length = 0
  matches(await vt.kernel.call('mcp__s__elicit', {}, { session: 'mine', ask: asker('mine') }), {
    ok: true,
    output: { result: { action: 'decline' } },
  })
  expect(asked).toEqual([])
  stop.abort()
  await other
  matches(await vt.kernel.call('mcp__s__elicit', {}, { session: 'mine', ask: asker('mine') }), {
    ok: true,
    output: { result: { action: 'accept', content: { colour: 'red' } } },
  })
  expect(asked).toEqual(['mine'])
  // Calls of one session belong to one person.
  const again = new AbortController()
  const own = vt.kernel.call('mcp__s__hang', {}, { session: 'mine', signal: again.signal, ask: asker('mine') })
  await expect.poll(() => place.read('hanging')).toBe('..')
  matches(await vt.kernel.call('mcp__s__elicit', {}, { session: 'mine', ask: asker('mine') }), {
    ok: true,
    output: { result: { action: 'accept' } },
  })
  again.abort()
  await own
})

it('connects over the 2024 transport where a definition says so and reconnects a lost connection', async () => {
  await using far = await remote()
  await using vt = await boot({ type: 'sse', url: `${far.origin}/sse`, headers: { 'X-Team': 'red' } })
  matches(await vt.call('mcp__s__echo', { text: 'a' }), { ok: true })
  expect(far.seen.every(({ headers }) => headers['x-team'] === 'red')).toBe(true)
  await vt.kernel.reload()
  matches(await vt.call('mcp__s__echo', { text: 'b' }), { ok: true })
})
