import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { openTrust, listConsentItems } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { bin, install, surroundings, vtcode } from '../support/program.js'

const open: Booted[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((booted) => booted[Symbol.asyncDispose]()))
})
const text = '---\nname: demo\ndescription: Use demo.\n---\nBody.\n'
const hello = 'name: hello\ndescription: Says hello.\neffects: [read]\nmodule: ./hello.js\n'
const helloModule = "export default async () => ({ ok: true, output: { said: 'hello' } })\n"

/** A kernel and a skill with these files, of the user or of the workspace. */
async function boot(
  files: Record<string, string>,
  how: Parameters<typeof bootKernel>[0] & { of?: 'user' | 'workspace' } = {},
): Promise<Booted & { put: (path: string, text: string) => Promise<void>; agree: () => Promise<void> }> {
  const booted = await bootKernel(how)
  open.push(booted)
  const folder = join(how.of === 'workspace' ? booted.root : booted.home, '.agents/skills/demo')
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  for (const [path, content] of Object.entries({ 'SKILL.md': text, ...files })) await put(path, content)
  const agree = async () => {
    const places = { workspace: booted.root, home: join(booted.home, '.vtcode'), env: {} }
    const trust = openTrust(places)
    trust.add(await listConsentItems({ ...places, user: booted.home, trust }))
  }
  return { ...booted, put, agree }
}
const load = ({ call }: Booted, more = {}) => call('load_skill', { name: 'demo' }, more)

describe('skill with manifests', () => {
  it('reports at the command line that the tools of a skill end with the call', async () => {
    const booted = await boot({ 'vtcode.yaml': hello, 'hello.js': helloModule })
    const { stdout } = await vtcode(booted as unknown as TempWorkspace, [
      'call',
      '--session',
      's',
      'load_skill',
      '--name',
      'demo',
    ])
    const result = JSON.parse(stdout) as { text: string; notices: { code: string; message: string }[] }
    expect(result.notices).toEqual([
      {
        code: 'VT_SKILL_ONE_CALL',
        message: expect.stringMatching(/^The tools hello of the skill last for its session.*`vtcode chat`/),
      },
    ])
    expect(result.text).not.toContain('can be called now')
  })

  it('adds the tools of a user skill at once, identical at every loading, until the session ends', async () => {
    const booted = await boot({ 'vtcode.yaml': hello, 'hello.js': helloModule })
    const { call, kernel } = booted
    matches(await call('hello', {}), { error: { code: 'VT_TOOL_UNKNOWN' } })
    const first = await load(booted, { session: 'one' })
    matches(first, { output: { tools_added: ['hello'], already_loaded: false } })
    expect((first as { text: string }).text).toContain('Tools that can be called now: hello')
    expect(first.notices).toBeUndefined()
    expect(kernel.tools().map(({ name }) => name)).toContain('hello')
    matches(await call('hello', {}), { output: { said: 'hello' } })
    matches(await load(booted, { session: 'one' }), { output: { tools_added: ['hello'], already_loaded: true } })
    matches(await call('unified_search', { action: 'skill', name: 'demo' }, { session: 'two' }), {
      output: { tools_added: ['hello'] },
    })
    expect((await kernel.reload()).ok).toBe(true)
    matches(await call('hello', {}), { output: { said: 'hello' } })
    await kernel.endSession('one')
    matches(await call('hello', {}), { output: { said: 'hello' } })
    await kernel.endSession('two')
    matches(await call('hello', {}), { error: { code: 'VT_TOOL_UNKNOWN' } })
  })

  it('runs no program for a skill tool that a snippet loads', async () => {
    const runs = 'name: hello\ndescription: Makes a file.\nrun: [touch, made]\n'
    const booted = await boot(
      { 'vtcode.yaml': runs },
      { config: { policy: { allow: ['exec'] }, sandbox: { mode: 'off' } } as never },
    )
    const code =
      "await vtcode.call('load_skill', { name: 'demo' })\nexport const result = await vtcode.call('hello', {}).catch((error) => error.code)"
    matches(await booted.call('unified_exec', { action: 'code', language: 'node', code }), {
      ok: true,
      output: {
        result: 'VT_CALL_DEPTH',
        calls: [
          { tool: 'load_skill', ok: true },
          { tool: 'hello', ok: false },
        ],
      },
    })
    expect(existsSync(join(booted.root, 'made'))).toBe(false)
  })

  it('loads the manifests of the vtcode folder of a skill and gives the reason for each rejected one', async () => {
    const booted = await boot({
      'vtcode/hello.yaml': hello.replace('./hello.js', './code/hello.js'),
      'vtcode/code/hello.js': helloModule,
      'vtcode/echo.yaml': 'name: shout\ndescription: Repeats words.\nrun: [echo, HEY]\n',
      'vtcode/small.yaml': 'name: small\nkind: compactor\nmodule: ./code/hello.js\n',
      'vtcode/away.yaml': 'name: away\ndescription: Leads out.\neffects: [read]\nmodule: ../../../../out.js\n',
      'vtcode/broken.yaml': 'name: [\n',
      'vtcode/read.yaml': 'action: unified_file/read\nname: my_read\nstage: override\nmodule: ./code/hello.js\n',
    })
    const result = await load(booted)
    matches(result, { output: { tools_added: ['hello', 'shout'] } })
    const said = (result.notices ?? []).map(({ code, message }) => `${code} ${message}`).sort()
    expect(said).toEqual([
      expect.stringMatching(/^VT_SKILL_LEFT_OUT demo@skill:away is left out: .*out\.js/),
      expect.stringMatching(/^VT_SKILL_LEFT_OUT demo@skill:broken is left out: /),
      expect.stringMatching(/^VT_SKILL_LEFT_OUT demo@skill:my_read is left out: .*`use`/),
      expect.stringMatching(/^VT_SKILL_LEFT_OUT demo@skill:small is left out: .*no compactor/),
    ])
    matches(await booted.call('shout', {}), { ok: true, output: { stdout: 'HEY\n' } })
    await booted.write('a.txt', 'text')
    matches(await booted.call('unified_file', { action: 'read', path: 'a.txt' }), { output: { content: 'text' } })
  })

  it('overrides a tool by a skill only where the user bound the slot to that skill tool', async () => {
    const files = {
      'vtcode.yaml': 'action: unified_file/read\nname: my_read\nstage: override\nmodule: ./hello.js\n',
      'hello.js': helloModule,
    }
    const booted = await boot(files, {
      config: { use: { 'unified_file/read': ['my_read', 'builtin:unified_file_read'] } },
    })
    await booted.write('a.txt', 'text')
    matches(await booted.call('unified_file', { action: 'read', path: 'a.txt' }), {
      error: { code: 'VT_SLOT_UNBOUND' },
    })
    await load(booted)
    matches(await booted.call('unified_file', { action: 'read', path: 'a.txt' }), { output: { said: 'hello' } })
  })

  it('applies the policies of a skill to every later call', async () => {
    const booted = await boot({
      'vtcode.yaml': 'name: no\nkind: policy\nslots: [unified_file/*]\nmodule: ./no.js\n',
      'no.js': "export default () => ({ deny: 'The skill says no.' })\n",
    })
    await booted.write('a.txt', 'text')
    matches(await load(booted), { output: { tools_added: [] } })
    matches(await booted.call('unified_file', { action: 'read', path: 'a.txt' }), {
      error: { code: 'VT_POLICY_DENIED', message: 're:.*The skill says no.*' },
    })
  })

  it('loads the manifests of a workspace skill only after consent to the whole skill, then without a restart', async () => {
    const files = {
      'vtcode/hello.yaml': hello.replace('./', '../'),
      'hello.js': helloModule,
      'vtcode/no.yaml': 'name: no\nkind: policy\nmodule: ../no.js\n',
      'no.js': 'export default () => undefined\n',
    }
    const booted = await boot(files, { of: 'workspace' })
    const { call, kernel, put, agree } = booted
    const before = await load(booted)
    matches(before, { output: { instructions: 'Body.\n', tools_added: [] } })
    expect(before.notices).toMatchObject([
      { code: 'VT_SKILL_UNTRUSTED', message: expect.stringMatching(/consent: hello, demo@skill:no\. .*vtcode trust/) },
    ])
    expect(kernel.inspection.generation).toBe(1)
    matches(await call('hello', {}), { error: { code: 'VT_TOOL_UNKNOWN' } })
    matches(await call('unified_file', { action: 'write', path: 'a.txt', content: 'x' }), { ok: true })

    await agree()
    matches(await load(booted), { output: { tools_added: ['hello'], already_loaded: true } })
    matches(await call('hello', {}), { output: { said: 'hello' } })

    // One changed byte voids the consent: the next generation has no such tool, and asks about calls of a lost policy.
    await put('references/notes.md', 'More.\n')
    const after = await load(booted)
    expect(after.notices).toMatchObject([{ code: 'VT_SKILL_UNTRUSTED' }])
    await kernel.reload()
    matches(await call('hello', {}), { ok: false })
    expect(await call('unified_file', { action: 'write', path: 'b.txt', content: 'x' })).toMatchObject({
      error: { code: 'VT_POLICY_NEEDS_APPROVAL' },
    })
  })

  it('forgets the tools of a skill whose files are gone at the next reload', async () => {
    const booted = await boot({ 'vtcode.yaml': hello, 'hello.js': helloModule })
    await load(booted)
    await rm(join(booted.home, '.agents/skills/demo'), { recursive: true })
    expect((await booted.kernel.reload()).ok).toBe(true)
    matches(await booted.call('hello', {}), { error: { code: 'VT_TOOL_UNKNOWN' } })
  })

  it('loads a skill with a missing module without harm to other tools', async () => {
    const booted = await boot({ 'vtcode.yaml': 'name: no\nkind: policy\nmodule: ./absent.js\n' })
    const result = await load(booted)
    matches(result, { output: { instructions: 'Body.\n', tools_added: [] } })
    expect(result.notices).toMatchObject([{ code: 'VT_SKILL_LEFT_OUT', message: expect.stringContaining('absent.js') }])
    expect((await booted.kernel.reload()).ok).toBe(true)
    matches(await booted.call('unified_search', { action: 'list' }), { ok: true })
  })

  it('loads a skill once when many calls load it at the same time', async () => {
    const booted = await boot({ 'vtcode.yaml': hello, 'hello.js': helloModule })
    const results = await Promise.all(Array.from({ length: 8 }, (_, i) => load(booted, { session: `s${i}` })))
    for (const result of results) matches(result, { output: { tools_added: ['hello'] } })
    matches(await booted.call('hello', {}), { output: { said: 'hello' } })
  })

  it('refuses a skill tool with the name of a plugin or of another tool', async () => {
    const booted = await boot({ 'vtcode.yaml': hello, 'hello.js': helloModule })
    const plugin = join(booted.home, '.vtcode/plugins/demo')
    await mkdir(plugin, { recursive: true })
    await writeFile(join(plugin, 'vtcode.yaml'), hello)
    await writeFile(join(plugin, 'hello.js'), helloModule.replace("'hello'", "'plugin'"))
    await install(booted.home, plugin)
    await booted.kernel.reload()
    const result = await load(booted)
    matches(result, { output: { tools_added: [] } })
    expect(result.notices).toMatchObject([
      {
        code: 'VT_SKILL_LEFT_OUT',
        message: expect.stringMatching(/demo@skill:hello is left out: demo:hello/),
      },
    ])
    matches(await booted.call('hello', {}), { output: { said: 'plugin' } })
  })

  const revisions: [revision: string, options: ConstructorParameters<typeof Client>[1]][] = [
    ['2025-11-25', {}],
    ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  ]
  it.each(revisions)('notifies MCP clients %s about the changed list of tools', async (_, options) => {
    await using made = await tempWorkspace()
    const folder = '../home/.agents/skills/demo'
    for (const [path, content] of Object.entries({ 'SKILL.md': text, 'vtcode.yaml': hello, 'hello.js': helloModule }))
      await made.write(`${folder}/${path}`, content)
    let tell = () => {}
    const told = new Promise<void>((resolve) => (tell = resolve))
    const client = new Client(
      { name: 'test', version: '1' },
      { ...options, listChanged: { tools: { onChanged: () => tell() } } },
    )
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp'],
        cwd: made.root,
        env: surroundings(made),
        stderr: 'ignore',
      }),
    )
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('hello')
      expect(await client.callTool({ name: 'load_skill', arguments: { name: 'demo' } })).toMatchObject({
        content: [{ text: expect.stringContaining('Tools that can be called now: hello') }],
      })
      await told
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('hello')
      expect(await client.callTool({ name: 'hello', arguments: {} })).toMatchObject({
        content: [{ text: '{"said":"hello"}' }],
      })
    } finally {
      await client.close()
    }
  })
})
