import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { openSeal } from '../../../build/core/system/index.js'
import { vtcode } from '../../support/program.js'

type Line = {
  id?: number
  method?: string
  result?: { tools?: { name: string; description: string }[]; content?: { text: string }[] }
}
const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'front', version: '1' } }
const begin = [
  { id: 1, method: 'initialize', params: client },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
]
const read = {
  id: 3,
  method: 'tools/call',
  params: { name: 'unified_file', arguments: { action: 'read', path: 'a.txt' } },
}

/** Returns the lines that a client of a fresh server gets until it has closed its end. */
async function talk(made: TempWorkspace, messages: object[] = begin, flags: string[] = []): Promise<Line[]> {
  const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const { stdout, code } = await vtcode(made, ['mcp', ...flags], {
    stdin,
    lines: messages.filter((message) => 'id' in message).length,
  })
  expect(code).toBe(0)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}
const folder = (made: TempWorkspace) => join(made.home, '.vtcode/cache/beginnings')
const kept = (made: TempWorkspace): string[] =>
  existsSync(folder(made)) ? readdirSync(folder(made)).map((name) => join(folder(made), name)) : []
const toolsOf = (lines: Line[], id = 2) => lines.find((line) => line.id === id)!.result!.tools!
/** Changes the cached start, with the seal of the user or as any program that writes a file could. */
function plant(
  made: TempWorkspace,
  file: string,
  { sealed, root = made.root }: { sealed: boolean; root?: string },
): void {
  const text = readFileSync(file, 'utf8')
  const changed = text.replaceAll('unified_file', 'planted_tool')
  const { seal, ...value } = JSON.parse(changed) as { seal: string }
  writeFileSync(file, sealed ? openSeal(join(made.home, '.vtcode'), root).write('mcp beginning', file, value) : changed)
}

describe('the cached start of an MCP session', () => {
  it('answers a second start from the cache before the kernel is loaded, and serves later calls as usual', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    const first = await talk(made)
    expect(kept(made)).toHaveLength(1)
    const second = await talk(made, [...begin, read])
    expect(second.filter(({ id }) => id === 1 || id === 2)).toEqual(first)
    expect(second.find(({ id }) => id === 3)!.result!.content![0]!.text).toBe('hello\n')
    expect(second.some(({ method }) => method === 'notifications/tools/list_changed')).toBe(false)
    // The server answers a different request itself.
    const other = await talk(made, [
      begin[0]!,
      begin[1]!,
      { id: 2, method: 'tools/list', params: { cursor: 'no such' } },
    ])
    expect(other.find(({ id }) => id === 2)).toMatchObject({ error: { code: -32602 } })
    // The cache answers no request that the server would refuse.
    for (const wrong of [{ id: 1.5 }, { jsonrpc: '1.0' }, { more: 1 }])
      expect(await talk(made, [{ ...begin[0]!, ...wrong }])).toMatchObject([{ error: { code: -32600 } }])
  })

  it('corrects a wrong cached list with a list_changed notification, and removes the cache', async () => {
    await using made = await tempWorkspace({})
    const true_list = toolsOf(await talk(made))
    plant(made, kept(made)[0]!, { sealed: true })
    const lines = await talk(made)
    expect(toolsOf(lines).map(({ name }) => name)).toContain('planted_tool')
    expect(lines.some(({ method }) => method === 'notifications/tools/list_changed')).toBe(true)
    expect(kept(made)).toEqual([])
    expect(toolsOf(await talk(made))).toEqual(true_list)
  })

  it('ignores a cached start that another program wrote', async () => {
    await using made = await tempWorkspace({})
    const first = await talk(made)
    plant(made, kept(made)[0]!, { sealed: false })
    expect(await talk(made)).toEqual(first)
  })

  it('rebuilds the cached list after changes of settings, policies, skills, plugins and flags', async () => {
    await using made = await tempWorkspace({})
    const names = async (flags: string[] = []) => toolsOf(await talk(made, begin, flags)).map(({ name }) => name)
    const all = await names()
    expect(await names(['--lean'])).not.toEqual(all)
    await made.write('vtcode.config.json', JSON.stringify({ plugins: { disable: ['builtin:web_search'] } }))
    const fewer = await names()
    expect(fewer).not.toEqual(all)
    await made.write('vtcode.config.json', '{}')
    expect(await names()).toEqual(all)
    await made.write(
      '.vtcode/skills/mine/SKILL.md',
      '---\nname: mine\ndescription: Does what only this skill does.\n---\nText.\n',
    )
    expect(JSON.stringify(toolsOf(await talk(made)))).toContain('only this skill')
    await made.write(
      '../home/.vtcode/plugins/one/vtcode.yaml',
      'name: one_more\ndescription: One more tool.\neffects: [read]\ninput: { properties: {} }\nrun: ["true"]\n',
    )
    expect(await names()).toContain('one_more')
  })

  it('caches one start for each workspace, home and mode, and none for flags that decide more', async () => {
    await using made = await tempWorkspace({ 'sub/a.txt': 'hello\n' })
    const [sub, home] = [join(made.root, 'sub'), join(made.home, 'other')]
    const asked = [
      ['--workspace', sub],
      [`--workspace=${sub}`, '--mode', 'ask'],
      ['--home', home, '--lean'],
    ]
    for (const flags of asked) expect(await talk(made, begin, flags)).toEqual(await talk(made, begin, flags))
    expect(kept(made)).toHaveLength(2)
    expect(readdirSync(join(home, '.vtcode/cache/beginnings'))).toHaveLength(1)
    plant(made, kept(made)[0]!, { sealed: true, root: sub })
    const planted = await Promise.all(asked.slice(0, 2).map((flags) => talk(made, begin, flags)))
    expect(planted.filter((lines) => toolsOf(lines).some(({ name }) => name === 'planted_tool'))).toHaveLength(1)
    await talk(made, begin, ['--workspace', sub, '--dialect', 'omp'])
    await talk(made, begin, ['--workspace', sub, '-c', 'policy.mode=ask'])
    expect(kept(made)).toHaveLength(1)
  })

  it('caches nothing where the home lies in the workspace, which others may have written', async () => {
    await using made = await tempWorkspace({})
    const stdin = begin.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
    await vtcode(made, ['mcp'], { stdin, env: { VTCODE_HOME: join(made.root, 'home') } })
    expect(existsSync(join(made.root, 'home/cache/beginnings'))).toBe(false)
  })

  it('loads few scripts, and none of the kernel', () => {
    const needed = new Set<string>()
    const need = (file: string): void => {
      if (needed.has(file)) return
      needed.add(file)
      for (const [, path] of readFileSync(file, 'utf8').matchAll(/require\("(\.[^"]+\.cjs)"\)/g))
        need(join(file, '..', path!))
    }
    need(resolve('dist/plugins/surface/mcp/front.cjs'))
    const files = [...needed].map((file) => relative(resolve('dist'), file))
    expect(files).toContain('core/_front.cjs')
    expect(files).not.toContain('core/index.cjs')
    expect([...needed].reduce((bytes, file) => bytes + readFileSync(file).length, 0)).toBeLessThan(40_000)
  })
})
