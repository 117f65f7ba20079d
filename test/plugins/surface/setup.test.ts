import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { holdForFile } from '../../support/held.js'
import { surroundings, vtcode } from '../../support/program.js'
import { typing } from '../../support/terminal.js'
import { startTomlReader, type TomlReader } from '../../support/toml.js'

const schemas = JSON.parse(readFileSync(new URL('../../fixtures/clients.json', import.meta.url), 'utf8'))
const files: Record<string, (made: TempWorkspace) => string> = {
  'claude-code': ({ root }) => join(root, '.mcp.json'),
  codex: ({ home }) => join(home, '.codex/config.toml'),
  vscode: ({ root }) => join(root, '.vscode/mcp.json'),
  zed: ({ home }) => join(home, '.config/zed/settings.json'),
  cursor: ({ root }) => join(root, '.cursor/mcp.json'),
  gemini: ({ root }) => join(root, '.gemini/settings.json'),
  opencode: ({ root }) => join(root, 'opencode.json'),
  copilot: ({ home }) => join(home, '.copilot/mcp-config.json'),
  qwen: ({ home }) => join(home, '.qwen/settings.json'),
  windsurf: ({ home }) => join(home, '.codeium/windsurf/mcp_config.json'),
  cline: ({ home }) => join(home, '.cline/data/settings/cline_mcp_settings.json'),
  amp: ({ home }) => join(home, '.config/amp/settings.json'),
}

let toml: TomlReader
beforeAll(() => {
  toml = holdForFile(startTomlReader())
})

describe('vtcode setup', () => {
  it.each(Object.keys(files))(
    'shows the change for %s, writes it only with consent, and removes it again',
    async (client) => {
      await using made = await tempWorkspace()
      const file = files[client]!(made)
      const shown = await vtcode(made, ['setup', client])
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('+ ') })
      expect(existsSync(file)).toBe(false)
      expect((await vtcode(made, ['setup', client, '--yes'])).code).toBe(0)
      expect(readFileSync(file, 'utf8')).toContain('vtcode')
      expect((await vtcode(made, ['setup', client, '--yes'])).stdout).toContain('is up to date')
      expect((await vtcode(made, ['setup', client, '--undo', '--yes'])).code).toBe(0)
      expect(existsSync(file)).toBe(false)
      // Nor is a folder left that was made for it.
      expect([...readdirSync(made.root), ...readdirSync(made.home)].filter((name) => name !== '.vtcode')).toEqual([])
    },
  )

  it('leaves folders that it did not make, and those that hold other files by now', async () => {
    await using made = await tempWorkspace({ '.cursor/.keep': '' })
    rmSync(join(made.root, '.cursor/.keep'))
    for (const client of ['cursor', 'zed']) await vtcode(made, ['setup', client, '--yes'])
    await writeFile(join(made.home, '.config/zed/keymap.json'), '[]')
    for (const client of ['cursor', 'zed']) await vtcode(made, ['setup', client, '--undo', '--yes'])
    expect([readdirSync(join(made.root, '.cursor')), readdirSync(join(made.home, '.config/zed'))]).toEqual([
      [],
      ['keymap.json'],
    ])
  })

  it.each(Object.keys(files))('writes for %s what its documented schema allows', async (client) => {
    await using made = await tempWorkspace()
    await vtcode(made, ['setup', client, '--yes'])
    const file = files[client]!(made)
    const written = client === 'codex' ? await toml.read(file) : JSON.parse(readFileSync(file, 'utf8'))
    const check = new Ajv2020({ strict: false }).compile(schemas[client])
    expect(check(written) || check.errors).toBe(true)
    const where: Record<string, string> = { vscode: '${workspaceFolder}', windsurf: made.root }
    expect(JSON.stringify(written)).toContain(
      where[client] ? `"mcp","--workspace",${JSON.stringify(where[client])}]` : '"mcp"]',
    )
  })

  it.each([
    [
      'claude-code',
      '{\n    "mcpServers": {\n        "other": {\n            "command": "x"\n        }\n    },\n    "mine": [\n        1\n    ]\n}\n',
    ],
    ['codex', 'model = "o"\n\n[mcp_servers.other]\ncommand = "x"\n'],
  ])('leaves other content of the file of %s unchanged', async (client, text) => {
    await using made = await tempWorkspace()
    const file = files[client]!(made)
    await made.write(client === 'codex' ? '../home/.codex/config.toml' : '.mcp.json', text)
    await vtcode(made, ['setup', client, '--yes'])
    expect(readFileSync(file, 'utf8')).not.toBe(text)
    await vtcode(made, ['setup', client, '--undo', '--yes'])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it.each(['by its file', 'by its name'])(
    'asks no consent for its own entry, found %s, and still asks for another server',
    async (how) => {
      await using made = await tempWorkspace()
      await writeFile(join(made.home, 'vtcode'), '#!/bin/sh\n', { mode: 0o755 })
      const env = { PATH: how === 'by its name' ? made.home : '/nonexistent' }
      await vtcode(made, ['setup', 'claude-code', '--yes'], { env })
      const said = async (words: string[]) => (await vtcode(made, words)).stderr
      expect(await said(['call', 'unified_file', 'read', '--path', '.mcp.json'])).toBe('')
      const entered = JSON.parse((await made.read('.mcp.json')) ?? '')
      expect(entered.mcpServers.vtcode.command).toBe(how === 'by its name' ? 'vtcode' : process.execPath)
      await made.write(
        '.mcp.json',
        JSON.stringify({ mcpServers: { ...entered.mcpServers, other: { command: 'sh', args: ['server.sh', 'mcp'] } } }),
      )
      expect(await said(['call', 'unified_file', 'read', '--path', '.mcp.json'])).toMatch(
        /Items of this workspace that wait for your consent: 1\./,
      )
      expect(await said(['trust'])).toMatch(/^vtcode: error: 1 not agreed to/m)
    },
  )

  it.each(['{ // a comment\n}\n', '[]', '{ "mcpServers": 1 }'])(
    'leaves a file that it cannot read unchanged, and prints what to enter: %j',
    async (text) => {
      await using made = await tempWorkspace({ '.mcp.json': text })
      const ran = await vtcode(made, ['setup', 'claude-code', '--yes'])
      expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('mcpServers.vtcode') })
      expect(await made.read('.mcp.json')).toBe(text)
    },
  )

  it('edits the file in a moved client folder, and follows a link without replacing it', async () => {
    await using made = await tempWorkspace({ 'dot/config.toml': 'model = "o"\n' })
    symlinkSync(join(made.root, 'dot/config.toml'), join(made.home, 'config.toml'))
    const env = { CODEX_HOME: made.home }
    expect((await vtcode(made, ['setup', 'codex', '--yes'], { env })).code).toBe(0)
    expect(await made.read('dot/config.toml')).toMatch(/^model = "o"\n[^]*\[mcp_servers\.vtcode\]/)
    await vtcode(made, ['setup', 'codex', '--undo', '--yes'], { env })
    expect(await made.read('dot/config.toml')).toBe('model = "o"\n')
  })

  it('changes no file elsewhere that a link of the repository leads to', async () => {
    await using made = await tempWorkspace({ 'opencode.json': '{}' })
    const target = join(made.home, 'elsewhere.json')
    for (const text of ['{}', undefined]) {
      rmSync(target, { force: true })
      if (text !== undefined) await writeFile(target, text)
      rmSync(join(made.root, '.mcp.json'), { force: true })
      symlinkSync(target, join(made.root, '.mcp.json'))
      expect(await vtcode(made, ['setup', 'claude-code', '--yes'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('was not changed'),
      })
      expect(existsSync(target) ? readFileSync(target, 'utf8') : undefined).toBe(text)
    }
    mkdirSync(join(made.home, 'folder'))
    symlinkSync(join(made.home, 'folder'), join(made.root, '.cursor'))
    expect((await vtcode(made, ['setup', 'cursor', '--yes'])).code).toBe(1)
    expect(existsSync(join(made.home, 'folder/mcp.json'))).toBe(false)
  })

  it.each([
    '{"a": [1,2], "mcpServers": {"c": {"command": "a"}}}\n',
    '{"a":1}',
    '{ /* x */ "a": [1, 2] }\n',
    '{\n  "mine": [1,2], "mcpServers": { "c": { "command": "a", "args": ["b"] } }\n}\n',
    '{\n\t"mcpServers": {\n\t\t"c": {"command":"a"}\n\t}\n}',
  ])('keeps the layout of a file: %j', async (text) => {
    await using made = await tempWorkspace({ '.gemini/settings.json': text })
    await vtcode(made, ['setup', 'gemini', '--yes'])
    expect(await made.read('.gemini/settings.json')).toMatch(/"vtcode"/)
    expect((await vtcode(made, ['setup', 'gemini', '--yes'])).stdout).toContain('is up to date')
    await vtcode(made, ['setup', 'gemini', '--undo', '--yes'])
    expect(await made.read('.gemini/settings.json')).toBe(text)
  })

  it.each([
    ['{ // c\n "mcpServers": { // d\n "vtcode": {}, "b": {} } }', '{ // c\n "mcpServers": { // d\n "b": {} } }'],
    ['{ "mcpServers": { "vtcode": {}, "b": {} }, "c": 1 }', '{ "mcpServers": { "b": {} }, "c": 1 }'],
    [
      '{\n  "mcpServers": {\n    // ours\n    "vtcode": {}, // x\n    // theirs\n    "b": {}\n  }\n}',
      '{\n  "mcpServers": {\n    // ours\n    // x\n    // theirs\n    "b": {}\n  }\n}',
    ],
    ['{ "mcpServers": { "a": {}, // h\n  "vtcode": {} } }', '{ "mcpServers": { "a": {} // h\n   } }'],
  ])('removes its entry and one comma, and no comment or line of others: %j', async (text, left) => {
    await using made = await tempWorkspace({ '.gemini/settings.json': text })
    await vtcode(made, ['setup', 'gemini', '--undo', '--yes'])
    expect(await made.read('.gemini/settings.json')).toBe(left)
  })

  it('reports a link to nothing, and a file that is nested too deeply', async () => {
    await using made = await tempWorkspace({
      '.gemini/settings.json': `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
    })
    expect((await vtcode(made, ['setup', 'gemini', '--yes'])).stderr).toContain(
      'was not changed: it is nested too deeply.',
    )
    mkdirSync(join(made.home, '.copilot'))
    symlinkSync(join(made.home, 'nowhere.json'), join(made.home, '.copilot/mcp-config.json'))
    expect(await vtcode(made, ['setup', 'copilot', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it is a link to a file that does not exist'),
    })
  })

  it('leaves a file unchanged whose bytes are no text', async () => {
    await using made = await tempWorkspace()
    const file = join(made.root, 'opencode.json')
    const bytes = Buffer.from('{ // caf\xe9\n}\n', 'latin1')
    await writeFile(file, bytes)
    expect(await vtcode(made, ['setup', 'opencode', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was not changed'),
    })
    expect(readFileSync(file)).toEqual(bytes)
  })

  it('overwrites nothing that changed while the question waited', async () => {
    await using made = await tempWorkspace({ '.mcp.json': '{}\n' })
    const { terminal, until, end } = await typing(
      { root: made.root, env: surroundings(made) } as Parameters<typeof typing>[0],
      ['setup', 'claude-code'],
    )
    await until('Write it? [y/N]')
    await made.write('.mcp.json', '{ "mine": 1 }\n')
    terminal.write('y\r')
    expect(await end()).toMatchObject({ code: 1, rest: expect.stringContaining('changed during the question') })
    expect(await made.read('.mcp.json')).toBe('{ "mine": 1 }\n')
  })

  it('edits the file with the other name where the client uses that one', async () => {
    await using made = await tempWorkspace({
      'opencode.jsonc': '{\n  // mine\n}\n',
      '../home/.config/amp/settings.jsonc': '{\n  // mine\n}\n',
    })
    for (const [client, path] of [
      ['opencode', join(made.root, 'opencode.jsonc')],
      ['amp', join(made.home, '.config/amp/settings.jsonc')],
    ] as const) {
      await vtcode(made, ['setup', client, '--yes'])
      expect(readFileSync(path, 'utf8')).toMatch(/(?=[^]*\/\/ mine)[^]*"vtcode"/)
      expect(existsSync(path.slice(0, -1))).toBe(false)
      await vtcode(made, ['setup', client, '--undo', '--yes'])
      expect(readFileSync(path, 'utf8')).toBe('{\n  // mine\n}\n')
    }
  })

  it('follows the variables by which a user moved the settings of a client', async () => {
    await using made = await tempWorkspace()
    for (const [client, variable, path] of [
      ['copilot', 'COPILOT_HOME', 'mcp-config.json'],
      ['cline', 'CLINE_DIR', 'data/settings/cline_mcp_settings.json'],
      ['cline', 'CLINE_DATA_DIR', 'settings/cline_mcp_settings.json'],
      ['codex', 'CODEX_HOME', 'config.toml'],
    ] as const) {
      const moved = join(made.home, variable)
      expect((await vtcode(made, ['setup', client, '--yes'], { env: { [variable]: moved } })).code).toBe(0)
      expect(readFileSync(join(moved, path), 'utf8')).toContain('vtcode')
    }
    for (const [client, variable] of [
      ['amp', 'AMP_SETTINGS_FILE'],
      ['cline', 'CLINE_MCP_SETTINGS_PATH'],
    ] as const) {
      await vtcode(made, ['setup', client, '--yes'], { env: { [variable]: join(made.home, `${variable}.json`) } })
      expect(readFileSync(join(made.home, `${variable}.json`), 'utf8')).toContain('vtcode')
    }
  })

  it('leaves the mode of the file unchanged, and no draft next to it', async () => {
    await using made = await tempWorkspace({ 'opencode.json': '{ "mine": 1 }\n' })
    const file = join(made.root, 'opencode.json')
    for (const mode of [0o600, 0o664]) {
      chmodSync(file, mode)
      expect((await vtcode(made, ['setup', 'opencode', '--yes'])).code).toBe(0)
      expect(statSync(file).mode & 0o777).toBe(mode)
      await vtcode(made, ['setup', 'opencode', '--undo', '--yes'])
    }
    expect(readdirSync(made.root).filter((name) => name.startsWith('opencode'))).toEqual(['opencode.json'])
  })

  it('keeps each file whole and every other server when many run at once', async () => {
    const text = `{ "mcpServers": {${Array.from({ length: 200 }, (_, i) => `\n  "s${i}": { "command": "x${i}" }`).join(',')}\n} }\n`
    await using made = await tempWorkspace({ '.mcp.json': text })
    const ran = await Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        vtcode(made, ['setup', 'claude-code', '--yes', ...(i % 2 ? ['--undo'] : [])]),
      ),
    )
    for (const { code, stderr } of ran)
      expect([code, stderr]).toEqual([code, code === 0 ? '' : expect.stringContaining('Nothing was changed')])
    const { vtcode: _, ...others } = JSON.parse((await made.read('.mcp.json'))!).mcpServers
    expect(others).toEqual(JSON.parse(text).mcpServers)
  })

  it('reports a file that cannot be written', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['setup', 'codex', '--yes'], { env: { CODEX_HOME: '/proc/none' } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('/proc/none/config.toml cannot be written'),
    })
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

  it('names the known clients for an unknown one', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['setup', 'emacs'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('claude-code'),
    })
  })
  it('lists the known clients with their state when no client is named', async () => {
    await using made = await tempWorkspace({ '.mcp.json': '{}', '.cursor/mcp.json': '{}' })
    await vtcode(made, ['setup', 'cursor', '--yes'])
    const { code, stdout } = await vtcode(made, ['setup'])
    expect(code).toBe(0)
    for (const row of [/^claude-code +found +\S*\/\.mcp\.json$/m, /^cursor +set up +/m, /^qwen +not found +/m])
      expect(stdout).toMatch(row)
    const listed = JSON.parse((await vtcode(made, ['setup', '--json'])).stdout) as object[]
    expect(listed).toContainEqual({
      client: 'cursor',
      found: true,
      set_up: true,
      file: expect.stringContaining('.cursor/mcp.json'),
    })
  })
})

/** TOML 1.0 with all it has, as its text and as what Python reads from it. */
const everything = `# first line
title = "x" # behind a value
"quoted key" = 'literal \\ string'
'lit' = """
several
  lines \\
  joined"""
raw = '''
C:\\dir
'''
a.dotted."k.ey" = +99
numbers = [ 1_000, 0xDEAD_BEEF, 0o755, 0b1101, -0, 9223372036854775807, -9223372036854775808, ]
floats = [ 3.14, -1e-9, 6.626e-34, inf, -inf, 1_0.5 ]
truth = [true, false]
dates = [ 1979-05-27T07:32:00Z, 1979-05-27T00:32:00.999999-07:00, 1979-05-27T07:32:00, 1979-05-27, 07:32:00.5 ]
mixed = [ # a comment in a list
  "é\\u00e9\\U0001F600", # another
  { inline = { deep = [1, {x = 2}] } },
]
empty = {}

[mcp_servers.other] # theirs
command = "x"
env = { A = "1", 'B' = "2" }

  [mcp_servers.other.nested]
  indented = 1

[[products]]
name = "one"
  [[products.parts]]
  n = 1
[[products]] # second
name = "two"

[tool."a.b".'c d']
e = 1

# last line
`

const folder = new URL('../../fixtures/clients/', import.meta.url)
const names = readdirSync(folder)
/** Clients whose files were recorded by test/conformance/clients.mjs. */
const recorded = [...new Set(names.map((name) => name.split('.')[0]!))]

describe('settings documents of clients', () => {
  const setup = (made: TempWorkspace, client: string, ...flags: string[]) =>
    vtcode(made, ['setup', client, '--yes', ...flags])
  const put = async (made: TempWorkspace, client: string, text: string): Promise<string> => {
    const file = files[client]!(made)
    mkdirSync(dirname(file), { recursive: true })
    await writeFile(file, text)
    return file
  }

  it('keeps every feature, comment and line of TOML through setup and undo', async () => {
    for (const text of [everything, everything.replaceAll('\n', '\r\n'), `\ufeff${everything}`]) {
      await using made = await tempWorkspace()
      const file = await put(made, 'codex', text)
      expect((await setup(made, 'codex')).code).toBe(0)
      const after = readFileSync(file, 'utf8')
      expect(after.startsWith(text)).toBe(true)
      if (!text.startsWith('\ufeff'))
        expect((await toml.read(file)).mcp_servers).toEqual({
          other: { command: 'x', env: { A: '1', B: '2' }, nested: { indented: 1 } },
          vtcode: { command: expect.any(String), args: expect.arrayContaining(['mcp']) },
        })
      expect((await setup(made, 'codex')).stdout).toContain('is up to date')
      expect((await setup(made, 'codex', '--undo')).code).toBe(0)
      expect(readFileSync(file, 'utf8')).toBe(text)
    }
  })

  it.each([
    'mcp_servers = { other = { command = "x" } } # theirs\n[z]\nq = 1\n',
    '[mcp_servers]\nother = { command = "x" } # theirs\n[z]\nq = 1\n',
    'mcp_servers.other.command = "x" # theirs\n[z]\nq = 1\n',
    '[mcp_servers.other.deep]\nx = 1\n[z]\nq = 1\n',
    '# only a comment',
  ])('stays valid TOML however the servers are written: %j', async (text) => {
    await using made = await tempWorkspace()
    const file = await put(made, 'codex', text)
    const before = await toml.read(file)
    expect((await setup(made, 'codex')).code).toBe(0)
    expect(await toml.read(file)).toEqual({
      ...before,
      mcp_servers: {
        ...before.mcp_servers,
        vtcode: { command: expect.any(String), args: expect.arrayContaining(['mcp']) },
      },
    })
    expect(readFileSync(file, 'utf8')).toContain(text.includes('theirs') ? '# theirs' : text.trim().split('\n')[0])
    await setup(made, 'codex', '--undo')
    expect(readFileSync(file, 'utf8').trimEnd()).toBe(text.trimEnd())
  })

  it('keeps what the client wrote between the comments of an earlier version', async () => {
    const old =
      'model = "o"\n\n# vtcode: begin\n[mcp_servers.vtcode]\ncommand = "old"\nargs = ["mcp"]\n\n[projects."/home/me"]\ntrust_level = "trusted"\n# vtcode: end\n\n[tui]\nx = 1\n'
    await using made = await tempWorkspace()
    const file = await put(made, 'codex', old)
    await setup(made, 'codex')
    const { projects, tui, mcp_servers } = await toml.read(file)
    expect([projects, tui, Object.keys(mcp_servers.vtcode)]).toEqual([
      { '/home/me': { trust_level: 'trusted' } },
      { x: 1 },
      ['command', 'args'],
    ])
    expect(mcp_servers.vtcode.command).not.toBe('old')
    await setup(made, 'codex', '--undo')
    expect(await toml.read(file)).toEqual({
      model: 'o',
      projects: { '/home/me': { trust_level: 'trusted' } },
      tui: { x: 1 },
    })
    expect(readFileSync(file, 'utf8')).not.toContain('vtcode')
  })

  it('keeps the keys that the user added to the vtcode entry', async () => {
    for (const client of Object.keys(files)) {
      await using made = await tempWorkspace()
      await setup(made, client)
      const file = files[client]!(made)
      const text = readFileSync(file, 'utf8')
      const added =
        client === 'codex'
          ? text.replace(/^args.*$/m, (line) => `${line}\nstartup_timeout_sec = 20 # slow disk\nenv = { A = "1" }`)
          : text.replace(/"args"|"command": \[/, (key) => `"mine": { "a": [1] },\n      ${key}`)
      expect(added).not.toBe(text)
      await writeFile(file, added)
      expect((await setup(made, client)).stdout).toContain('is up to date')
      await writeFile(file, added.replace(/"mcp"(?=,|\s*\])/, '"mcp", "--old"'))
      expect((await setup(made, client)).code).toBe(0)
      expect(readFileSync(file, 'utf8')).toMatch(
        client === 'codex' ? /startup_timeout_sec = 20 # slow disk\nenv = \{ A = "1" \}/ : /"mine": \{ "a": \[1\] \}/,
      )
      expect(readFileSync(file, 'utf8')).not.toContain('--old')
    }
  })

  it.each(recorded)('keeps what %s itself wrote, before and after the vtcode entry', async (client) => {
    const [written, rewritten] = ['written', 'rewritten'].map((which) =>
      readFileSync(
        new URL(
          names.find((name) => name.startsWith(`${client}.${which}`))!,
          folder,
        ),
        'utf8',
      ),
    ) as [string, string]
    await using made = await tempWorkspace()
    await writeFile(join(made.home, 'vtcode'), '#!/bin/sh\n', { mode: 0o755 })
    const run = (...flags: string[]) =>
      vtcode(made, ['setup', client, '--yes', ...flags], { env: { PATH: `${made.home}:${process.env['PATH']}` } })
    const file = await put(made, client, written)
    const read = async (): Promise<any> =>
      client === 'codex' ? toml.read(file) : JSON.parse(readFileSync(file, 'utf8'))
    const servers = async (): Promise<Record<string, object>> => {
      const settings = await read()
      return ['mcpServers', 'mcp_servers', 'mcp', 'amp.mcpServers'].map((key) => settings[key]).find(Boolean)
    }
    expect((await run()).code).toBe(0)
    expect(Object.keys(await servers())).toEqual(['other', 'vtcode'])
    for (const line of written.split('\n')) expect(readFileSync(file, 'utf8')).toContain(line)
    await run('--undo')
    expect(readFileSync(file, 'utf8')).toBe(written)

    await writeFile(file, rewritten)
    expect((await run()).stdout).toContain('is up to date')
    expect(readFileSync(file, 'utf8')).toBe(rewritten)
    const all = await read()
    await run('--undo')
    expect(Object.keys(await servers()).toSorted()).toEqual(['other', 'third'])
    const left = await servers()
    expect(JSON.stringify(all)).toContain(JSON.stringify(left['third']))
    expect((await run('--undo')).stdout).toContain('is up to date')
  })

  it('keeps comments and trailing commas where the client accepts them', async () => {
    for (const [client, key] of [
      ['vscode', 'servers'],
      ['zed', 'context_servers'],
      ['cursor', 'mcpServers'],
      ['gemini', 'mcpServers'],
      ['opencode', 'mcp'],
      ['copilot', 'mcpServers'],
      ['qwen', 'mcpServers'],
      ['amp', 'amp.mcpServers'],
    ] as const) {
      for (const text of [
        `// first\n{\n\t"mine": 1, /* in between */\n\t"${key}": {\n\t\t// theirs\n\t\t"other": { "url": "https://x//y" }, // kept\n\t},\n}\n// last\n`,
        `{\r\n  "${key}": {\r\n    // nothing yet\r\n  }\r\n}\r\n`,
        '{ /* nothing */ }',
      ]) {
        await using made = await tempWorkspace()
        const file = await put(made, client, text)
        expect((await setup(made, client)).code).toBe(0)
        const after = readFileSync(file, 'utf8')
        for (const comment of text.match(/\/\/ \w+|\/\* [\w ]+\*\//g)!)
          expect([client, after]).toEqual([client, expect.stringContaining(comment)])
        expect(after).toContain('"vtcode"')
        expect((await setup(made, client)).stdout).toContain('is up to date')
        await setup(made, client, '--undo')
        const undone = readFileSync(file, 'utf8')
        expect(undone).not.toContain('vtcode')
        for (const comment of text.match(/\/\/ \w+|\/\* [\w ]+\*\//g)!)
          expect([client, undone]).toEqual([client, expect.stringContaining(comment)])
      }
    }
  })

  it.each<[string, string]>([
    ['codex', 'model = '],
    ['codex', '[mcp_servers.vtcode'],
    ['codex', 'a = 1\na = 2\n'],
    ['codex', 'mcp_servers = 1\n'],
    ['codex', '[[mcp_servers]]\nx = 1\n'],
    ['codex', 'mcp_servers = { vtcode = "x" }\n'],
    ['codex', 'x = { a = 1\n'],
    ['codex', 'd = 1979-13-40\n'],
    ['vscode', '{ "servers": {'],
    ['vscode', '{ "servers": [] }'],
    ['vscode', '{ "servers": { "vtcode": 1 } }'],
    ['zed', '// only\n'],
    ['opencode', '{ "mcp": {} } x'],
    ['gemini', '{ "mcpServers": {}, "mcpServers": { "other": {} } }'],
    ['cursor', '{ mcpServers: {} }'],
    ['claude-code', '{ "mcpServers": {}, }'],
    ['cline', '{ // no\n}'],
    ['windsurf', '{ // no\n}'],
    ['amp', '{ "amp.mcpServers": [] }'],
    ['copilot', '[]'],
    ['qwen', '{'],
  ])('refuses a broken file of %s and leaves it unchanged: %j', async (client, text) => {
    await using made = await tempWorkspace()
    const file = await put(made, client, text)
    expect(await setup(made, client)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/was not changed: .*Enter this yourself under /s),
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})
