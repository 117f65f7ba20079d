import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'

const action = (body: string): string => `export default async (call, context) => { ${body} }\n`
const raw =
  "const { writeSync } = await import('node:fs'); const n = 2; const put = (line) => { for (;;) try { return writeSync(3, line) } catch {} }; const ask = (k, method, ...args) => put(JSON.stringify({ t: 'ask', n, k, method, args }) + '\\n');"
const sources: Record<string, string> = {
  // Unread answers would stay in the memory of the program.
  hoards: action("for (let i = 0; i < 60; i++) void context.workspace.read('large'); while (true);"),
  storms: action(
    `${raw} for (let k = 1; k <= 2000; k++) ask(k, 'workspace.stat', 'large'); await new Promise(() => {})`,
  ),
  many: action(
    "const all = await Promise.all(Array.from({ length: 500 }, async (_, i) => (await context.workspace.readText('small')).length + (i % 50 === 0 ? (await context.call('unified_file', { action: 'read', path: 'small' })).output.content.length : 0))); return { ok: true, output: { sum: all.reduce((a, b) => a + b, 0) } }",
  ),
  whole: action(
    "const found = await context.workspace.read('huge').catch((error) => error.message); return { ok: true, output: { found: typeof found === 'string' ? found : found.length } }",
  ),
  floods: action("for (let i = 0; i < 5000; i++) context.changed('x:' + i); return { ok: true, output: {} }"),
}

let plugins: TempWorkspace
let vt: Booted
const changed: string[] = []
beforeAll(async () => {
  const manifest = (name: string): string =>
    `name: ${name}\ndescription: ${name}.\neffects: [read]\ninput: {}\nmodule: ./${name}.js\n`
  plugins = await tempWorkspace(
    Object.fromEntries(
      Object.entries(sources).flatMap(([name, body]) => [
        [`${name}.js`, body],
        [`${name}.yaml`, manifest(name)],
      ]),
    ),
  )
  vt = await bootKernel({
    manifests: [plugins.root],
    config: { plugins: { isolate: 'auto' } },
    timeouts: { unread: 500 },
    files: { small: 'abc', large: 'x'.repeat(20 * 1_048_576), huge: 'x'.repeat(50 * 1_048_576) },
  })
  vt.kernel.inspection.onChange((uri) => changed.push(uri))
})
afterAll(async () => {
  await vt[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})
const resident = async (): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8'))![1]) / 1024

describe('isolated plugin: limits', () => {
  it('ends a plugin that asks and never reads before its answers fill the memory of the program', async () => {
    const before = await resident()
    let most = before
    const watch = setInterval(() => void resident().then((now) => (most = Math.max(most, now))), 50)
    const result = await vt.call('hoards', {})
    clearInterval(watch)
    matches(result, {
      ok: false,
      error: { code: 'VT_PLUGIN_CRASHED', message: 're:.*does not read what it asked for.*' },
    })
    expect(most - before).toBeLessThan(400)
  })
  it('ends a plugin that asks for more at once than a context ever does', async () => {
    matches(await vt.call('storms', {}), {
      ok: false,
      error: { code: 'VT_PLUGIN_CRASHED', message: 're:.*more than 32 things at once.*' },
    })
  })
  it('queues the requests that a plugin makes through its context without a limit on their number', async () => {
    matches(await vt.call('many', {}), { ok: true, output: { sum: 500 * 3 + 10 * 3 } })
  })
  it('reports an answer larger than a message to the plugin and keeps its process', async () => {
    matches(await vt.call('whole', {}), { ok: true, output: { found: 're:.*larger than any message.*' } })
  })
  it('limits the change events that a plugin is sent to a hundred a second', async () => {
    matches(await vt.call('floods', {}), { ok: true })
    expect(changed.length).toBeGreaterThan(0)
    expect(changed.length).toBeLessThan(1000)
  })
})
