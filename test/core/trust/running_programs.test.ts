import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listConsentItems, createKernel, resolveHome, openTrust, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { toValueItem, recordConsent, requireUnchanged } from '../../../build/core/trust/index.js'

let space: TempWorkspace
beforeEach(async () => {
  space = await tempWorkspace()
})
afterEach(() => space[Symbol.asyncDispose]())

const env = () => ({ PATH: process.env['PATH'], HOME: space.home })
const put = (name: string, text: string): void => {
  mkdirSync(dirname(join(space.root, name)), { recursive: true })
  writeFileSync(join(space.root, name), text)
}
async function agree(): Promise<void> {
  const home = resolveHome({ env: env() })
  const trust = openTrust({ home, workspace: space.root, env: env() })
  trust.add(await listConsentItems({ workspace: space.root, home, user: space.home, env: env(), trust }))
}
const boot = (): Promise<Kernel> =>
  createKernel({
    workspace: space.root,
    home: space.home,
    env: env(),
    mode: 'full-auto',
    config: { policy: { allow: ['told', 'own', 'mcp__s__echo', 'mcp__t__echo'] } },
  })
const ran = (): string => (existsSync(join(space.home, 'ran')) ? readFileSync(join(space.home, 'ran'), 'utf8') : '')
const marks = (text: string): string => `cat >/dev/null; echo ${text} >> '${join(space.home, 'ran')}'\n`
const server = (text: string): string => `
require('node:fs').appendFileSync(${JSON.stringify(join(space.home, 'ran'))}, ${JSON.stringify(`${text}\n`)})
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const answers = { initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }), 'tools/list': () => ({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }), 'tools/call': () => ({ content: [] }) }
  if (answers[method]) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]() }) + '\\n')
})
`

describe('trusted programs of the workspace', () => {
  it('stops starting a trusted program while one of its files is changed', async () => {
    put('tools/told.yaml', 'name: told\ndescription: Tells.\neffects: [read]\nrun: [sh, tools/run.sh]\n')
    put(
      '.vtcode/plugins/p/vtcode.yaml',
      "name: own\ndescription: Tells.\neffects: [read]\nrun: [sh, '{$plugin_root}/run.sh']\n",
    )
    put(
      'vtcode.config.yaml',
      'manifests: [builtin, ./tools]\nhooks: { PreToolUse: [{ hooks: [{ command: "sh tools/hook.sh", on_error: allow }] }] }\n',
    )
    const programs = ['tools/run.sh', '.vtcode/plugins/p/run.sh', 'tools/hook.sh']
    const write = (text: string): void => {
      for (const name of programs) put(name, marks(text))
    }
    write('agreed')
    await agree()
    const kernel = await boot()
    const codes = async (): Promise<string[]> =>
      Promise.all(
        ['told', 'own'].map(async (name) => kernel.call(name).then((result) => (result.ok ? 'ok' : result.error.code))),
      )
    expect(await codes()).toEqual(['ok', 'ok'])
    const before = ran()
    expect(before.match(/agreed/g)).toHaveLength(4)
    write('changed')
    expect(await codes()).toEqual(['VT_PLUGIN_UNTRUSTED', 'VT_PLUGIN_UNTRUSTED'])
    expect(ran()).toBe(before)
    write('agreed')
    expect(await codes()).toEqual(['ok', 'ok'])
    await kernel.close()
  })

  it('refuses to start an MCP server whose file changed after consent', async () => {
    put('vtcode.config.yaml', 'mcp: { servers: { s: { command: node, args: [sub/s.cjs] } } }\n')
    put('.mcp.json', JSON.stringify({ mcpServers: { t: { command: 'node', args: ['sub/t.cjs'] } } }))
    for (const name of ['s', 't']) put(`sub/${name}.cjs`, server('agreed'))
    await agree()
    const first = await boot()
    for (const name of ['mcp__s__echo', 'mcp__t__echo']) expect(await first.call(name)).toMatchObject({ ok: true })
    await first.close()
    const before = ran()
    const second = await boot()
    for (const name of ['s', 't']) put(`sub/${name}.cjs`, server('changed'))
    for (const name of ['mcp__s__echo', 'mcp__t__echo'])
      expect(await second.call(name)).toMatchObject({ ok: false, error: { code: 'VT_PLUGIN_UNTRUSTED' } })
    await second.close()
    expect(ran()).toBe(before)
  })
})

describe('requireStanding', () => {
  const workspace = { id: 'x', layer: 'workspace' as const }
  const wrong = (key?: string) => {
    try {
      requireUnchanged(space.root, workspace, key)
      return undefined
    } catch (error) {
      return (error as { problem: { details: { files: string[] } } }).problem.details.files
    }
  }
  it('compares files by bytes, ignores their times, and names changed, removed and new ones', () => {
    put('tools/f.sh', 'true\n')
    put('tools/h.sh', 'true\n')
    const value = { Stop: [{ hooks: [{ command: 'sh tools/e.sh || sh tools/f.sh && sh tools/h.sh' }] }] }
    const item = toValueItem(join(space.root, 'vtcode.config.yaml'), 'hooks', value, space.root)
    recordConsent(space.root, item.id, item)
    expect(wrong('hooks')).toBeUndefined()
    put('tools/f.sh', 'true\n')
    expect(wrong('hooks')).toBeUndefined()
    put('tools/f.sh', 'fals\n')
    utimesSync(join(space.root, 'tools/f.sh'), new Date(0), new Date(0))
    expect([wrong('hooks'), wrong(), wrong('mcp.servers')]).toEqual([['tools/f.sh'], ['tools/f.sh'], undefined])
    rmSync(join(space.root, 'tools/h.sh'))
    put('tools/e.sh', 'true\n')
    expect(wrong('hooks')).toEqual(['tools/f.sh', 'tools/h.sh', 'tools/e.sh'])
    expect(() => requireUnchanged(space.root, { ...workspace, layer: 'user' }, 'hooks')).not.toThrow()
    expect(() => requireUnchanged(join(space.root, 'tools'), workspace, 'hooks')).not.toThrow()
  })
})
