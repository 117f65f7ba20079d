import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

/** A small MCP server over stdio with one tool. */
const SERVER = `import { createInterface } from 'node:readline'
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const serverInfo = { name: 'one', version: '1' }
  if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
  else if (method === 'tools/list') say({ id, result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } })
  else say({ id, result: { content: [{ type: 'text', text: 'started' }] } })
})
`
const toolOf = (program: string): string =>
  JSON.stringify({ name: 'told', description: 'Tells.', effects: ['read'], run: [program, '-e', '1'] })
const allow = { policy: { allow: ['mcp__a', 'told', 'mcp__plugin_pack_a'] } }

async function consent(made: TempWorkspace, ...call: string[]): Promise<{ code: number | null; said: string }> {
  await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(allow))
  await vtcode(made, ['trust', 'add', '--all'])
  const { code, stdout, stderr } = await vtcode(made, ['call', ...call])
  return { code, said: stdout + stderr }
}

describe('programs of a workspace with an absolute path', () => {
  it('starts a server of .mcp.json after the consent that named its program', async () => {
    await using made = await tempWorkspace({ 'server.mjs': SERVER })
    const servers = { a: { command: process.execPath, args: [join(made.root, 'server.mjs')] } }
    writeFileSync(join(made.root, '.mcp.json'), JSON.stringify({ mcpServers: servers }))
    const shown = await vtcode(made, ['trust', 'list'])
    expect(shown.stdout + shown.stderr).toContain(process.execPath)
    expect(await consent(made, 'mcp__a__echo')).toEqual({ code: 0, said: expect.stringContaining('started') })
  })

  it('starts the program of a manifest after the consent that named it', async () => {
    await using made = await tempWorkspace({
      '.vtcode/config.yaml': 'manifests: [builtin, ../tools]\n',
      'tools/told.json': toolOf(process.execPath),
    })
    expect(await consent(made, 'told')).toEqual({ code: 0, said: expect.stringContaining('"ok":true') })
  })

  it('starts no program without consent', async () => {
    await using made = await tempWorkspace({ 'server.mjs': SERVER })
    const servers = { a: { command: process.execPath, args: [join(made.root, 'server.mjs')] } }
    writeFileSync(join(made.root, '.mcp.json'), JSON.stringify({ mcpServers: servers }))
    await made.write('../home/.vtcode/vtcode.config.json', JSON.stringify(allow))
    expect((await vtcode(made, ['call', 'mcp__a__echo'])).code).not.toBe(0)
  })

  it('starts no program of the workspace that the consent to a plugin does not cover', async () => {
    await using made = await tempWorkspace({ 'other/run.sh': '#!/bin/sh\necho ran\n' })
    const servers = { a: { command: join(made.root, 'other/run.sh') } }
    await made.write('.vtcode/plugins/pack/.claude-plugin/plugin.json', JSON.stringify({ name: 'pack' }))
    await made.write('.vtcode/plugins/pack/.mcp.json', JSON.stringify({ mcpServers: servers }))
    const { code, said } = await consent(made, 'mcp__plugin_pack_a__echo')
    expect(code).not.toBe(0)
    expect(said).toContain('is a file of the workspace outside of the plugin, which can change unasked')
  })
})
