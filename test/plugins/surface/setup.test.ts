import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { surroundings, vtcode } from '../../support/program.js'

const schemas = JSON.parse(readFileSync(new URL('../../fixtures/clients.json', import.meta.url), 'utf8'))
const files: Record<string, (made: TempWorkspace) => string> = {
  'claude-code': ({ root }) => join(root, '.mcp.json'),
  codex: ({ home }) => join(home, '.codex/config.toml'),
  vscode: ({ root }) => join(root, '.vscode/mcp.json'),
  zed: ({ home }) => join(home, '.config/zed/settings.json'),
  cursor: ({ root }) => join(root, '.cursor/mcp.json'),
  gemini: ({ root }) => join(root, '.gemini/settings.json'),
  opencode: ({ root }) => join(root, 'opencode.json'),
}

describe('vtcode setup', () => {
  it.each(Object.keys(files))('shows the change for %s, writes it only with consent, and takes it out again', async (client) => {
    await using made = await tempWorkspace()
    const file = files[client]!(made)
    const shown = await vtcode(made, ['setup', client])
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('+ ') })
    expect(existsSync(file)).toBe(false)
    expect((await vtcode(made, ['setup', client, '--yes'])).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('vtcode')
    expect((await vtcode(made, ['setup', client, '--yes'])).stdout).toContain('as it should be')
    expect((await vtcode(made, ['setup', client, '--undo', '--yes'])).code).toBe(0)
    expect(existsSync(file)).toBe(false)
  })

  it.each(Object.keys(files))('writes for %s what its documented schema allows', async (client) => {
    await using made = await tempWorkspace()
    await vtcode(made, ['setup', client, '--yes'])
    const file = files[client]!(made)
    const toml = 'import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], "rb"))))'
    const written = JSON.parse(client === 'codex' ? execFileSync('python3', ['-c', toml, file], { encoding: 'utf8' }) : readFileSync(file, 'utf8'))
    const check = new Ajv2020({ strict: false }).compile(schemas[client])
    expect(check(written) || check.errors).toBe(true)
    expect(JSON.stringify(written)).toMatch(client === 'vscode' ? /"mcp","--workspace","\$\{workspaceFolder\}"\]/ : /"mcp"\]/)
  })

  it.each([
    ['claude-code', '{\n    "mcpServers": {\n        "other": {\n            "command": "x"\n        }\n    },\n    "mine": [\n        1\n    ]\n}\n'],
    ['codex', 'model = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'],
  ])('leaves what else stands in the file of %s as it was', async (client, text) => {
    await using made = await tempWorkspace()
    const file = files[client]!(made)
    await made.write(client === 'codex' ? '../home/.codex/config.toml' : '.mcp.json', text)
    await vtcode(made, ['setup', client, '--yes'])
    expect(readFileSync(file, 'utf8')).not.toBe(text)
    await vtcode(made, ['setup', client, '--undo', '--yes'])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it.each(['by its file', 'by its name'])('is asked about nowhere: %s, what it enters is this program, while a server of others beside it still waits', async (how) => {
    await using made = await tempWorkspace()
    await writeFile(join(made.home, 'vtcode'), '#!/bin/sh\n', { mode: 0o755 })
    const env = { PATH: how === 'by its name' ? made.home : '/nonexistent' }
    await vtcode(made, ['setup', 'claude-code', '--yes'], { env })
    const said = async (words: string[]) => (await vtcode(made, words)).stderr
    expect(await said(['call', 'unified_file', 'read', '--path', '.mcp.json'])).toBe('')
    const entered = JSON.parse(await made.read('.mcp.json') ?? '')
    expect(entered.mcpServers.vtcode.command).toBe(how === 'by its name' ? 'vtcode' : process.execPath)
    await made.write('.mcp.json', JSON.stringify({ mcpServers: { ...entered.mcpServers, other: { command: 'sh', args: ['server.sh', 'mcp'] } } }))
    expect(await said(['call', 'unified_file', 'read', '--path', '.mcp.json'])).toMatch(/Left out until you agree: 1 of/)
    expect(await said(['trust'])).toMatch(/^vtcode: error: 1 not agreed to/m)
  })

  it.each(['{ // a comment\n}\n', '[]', '{ "mcpServers": 1 }'])('does not touch a file that it cannot read, and says what to enter: %j', async (text) => {
    await using made = await tempWorkspace({ '.mcp.json': text })
    const ran = await vtcode(made, ['setup', 'claude-code', '--yes'])
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('mcpServers.vtcode') })
    expect(await made.read('.mcp.json')).toBe(text)
  })

  it('changes a file whose user moved the folder of the client, and follows a link to it without replacing it', async () => {
    await using made = await tempWorkspace({ 'dot/config.toml': 'model = "o"\n' })
    symlinkSync(join(made.root, 'dot/config.toml'), join(made.home, 'config.toml'))
    const env = { CODEX_HOME: made.home }
    expect((await vtcode(made, ['setup', 'codex', '--yes'], { env })).code).toBe(0)
    expect(await made.read('dot/config.toml')).toMatch(/^model = "o"\n[^]*\[mcp_servers\.vtcode\]/)
    await vtcode(made, ['setup', 'codex', '--undo', '--yes'], { env })
    expect(await made.read('dot/config.toml')).toBe('model = "o"\n')
  })

  it('says so where nothing can be written', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['setup', 'codex', '--yes'], { env: { CODEX_HOME: '/proc/none' } })).toMatchObject({ code: 1, stderr: expect.stringContaining('/proc/none/config.toml cannot be written') })
  })

  it('enters a command that a client can start', async () => {
    await using made = await tempWorkspace({ 'a.txt': 'hello\n' })
    await vtcode(made, ['setup', 'claude-code', '--yes'])
    const { command, args } = JSON.parse((await made.read('.mcp.json'))!).mcpServers.vtcode
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command, args, cwd: made.root, env: surroundings(made) }))
    expect((await client.listTools()).tools.length).toBeGreaterThan(0)
    await client.close()
  })

  it('names the clients it knows', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['setup', 'emacs'])).toMatchObject({ code: 2, stderr: expect.stringContaining('claude-code') })
    expect((await vtcode(made, ['setup'])).code).toBe(2)
  })
})
