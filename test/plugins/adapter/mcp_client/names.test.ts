import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Config } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'

const fixture = fileURLToPath(new URL('../../../fixtures/mcp/server.mjs', import.meta.url))
const automation = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } }
const tool = (name: string, description = `The tool ${name}.`): object => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
})
const slots = ({ kernel }: Booted): string[] =>
  kernel
    .list()
    .map(({ slot }) => slot)
    .filter((slot) => slot.startsWith('mcp__'))

/** A package with one server, and the program with it. */
async function packaged(
  names: string[],
  more: Config = {},
): Promise<{ vt: Booted; place: TempWorkspace } & AsyncDisposable> {
  const place = await tempWorkspace({
    'codex-security/.codex-plugin/plugin.json': JSON.stringify({ name: 'codex-security' }),
    'codex-security/.mcp.json': JSON.stringify({
      mcpServers: { 'codex-security': { command: 'node', args: [fixture, '${PLUGIN_ROOT}'] } },
    }),
    'codex-security/tools.json': JSON.stringify(names.map((name) => tool(name))),
  })
  const vt = await bootKernel({ manifests: [join(place.root, 'codex-security')], config: { automation, ...more } })
  return { vt, place, [Symbol.asyncDispose]: () => vt[Symbol.asyncDispose]().then(() => place[Symbol.asyncDispose]()) }
}

describe('mcp client: overlong tool name', () => {
  const long = 'set_codex_security_finding_status'
  it('cuts an overlong name in the part of the server and keeps the name of the tool', async () => {
    await using made = await packaged([long, 'scan', 'x'.repeat(50), 'y'.repeat(70)])
    const names = slots(made.vt)
    expect(names.every((name) => /^[\w-]{1,64}$/.test(name))).toBe(true)
    expect(names).toContain('mcp__plugin_codex-security_codex-security__scan')
    expect(names.find((name) => name.endsWith(`__${long}`))).toMatch(/^mcp__codex-security_[0-9a-f]{8}__set_/)
    // The tool name is cut too when the rest of the server name would be shorter than its hash.
    expect(names.find((name) => name.includes('xxxx'))).toMatch(
      /^mcp__plugin_codex-security_codex-security__x+_[0-9a-f]{8}$/,
    )
    for (const name of names) expect(await made.vt.call(name, { text: 'a' })).toMatchObject({ ok: true })
  })

  it('applies rules by the full name of a server, and none of a server with a similar name', async () => {
    const whole = `mcp__plugin_codex-security_codex-security__${long}`
    for (const rule of [
      whole,
      'mcp__plugin_codex-security_codex-security',
      'mcp__plugin_codex-security_codex-security__*',
    ]) {
      await using made = await packaged([long, 'scan'], { policy: { deny: [rule] } } as Config)
      const name = slots(made.vt).find((one) => one.endsWith(long))!
      expect([rule, await made.vt.call(name, { text: 'a' })]).toMatchObject([
        rule,
        { ok: false, error: { code: 'VT_POLICY_DENIED' } },
      ])
      expect(made.vt.kernel.diagnostics().filter(({ code }) => code === 'VT_POLICY_UNKNOWN_TOOL')).toEqual([])
    }
    const verdict = async (rule: string) => {
      await using made = await packaged([long], { policy: { mode: 'auto', allow: [rule] } } as Config)
      return (await made.vt.kernel.explain(slots(made.vt)[0]!, { text: 'a' }, { mode: 'auto' })).verdict
    }
    expect(await verdict('mcp__plugin_codex-security_codex-security__*')).toBe('run')
    expect(await verdict('mcp__codex-security__*')).toBe('ask')
    expect(await verdict('mcp__codex-security')).toBe('ask')
  })

  it('calls a tool by its full, overlong name', async () => {
    await using made = await packaged([long])
    expect(await made.vt.call(`mcp__plugin_codex-security_codex-security__${long}`, { text: 'a' })).toMatchObject({
      ok: true,
    })
  })
})

it('shows up to 4 KB of a long description in a search and its marked beginning in lists', async () => {
  const texts = (length: number) => `Begins here. ${'word '.repeat(length / 5)}ends here.`
  await using place = await tempWorkspace({
    'tools.json': JSON.stringify([tool('long', texts(3_900)), tool('longer', texts(9_000)), tool('short', texts(200))]),
  })
  await using vt = await bootKernel({
    config: {
      automation,
      mcp: { servers: { s: { command: process.execPath, args: [fixture, place.root] } } },
    } as Config,
  })
  const listed = (name: string) => vt.kernel.tools().find((one) => one.name === `mcp__s__${name}`)!.description
  expect(listed('short')).toBe(texts(200))
  expect(listed('long')).toMatch(/^Begins here\. [\s\S]*… \(cut from 39\d\d characters\)$/)
  expect(listed('long').length).toBeLessThanOrEqual(1_024)
  const found = async (name: string) =>
    ((await vt.call('unified_search', { action: 'tools', keyword: `mcp__s__${name}` })) as { text: string }).text
  expect(await found('long')).toContain('word ends here.')
  expect(await found('longer')).toMatch(/… \(cut from 90\d\d characters\)/)
  expect(await found('longer')).not.toContain('ends here.')
})
