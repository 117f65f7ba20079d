import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'

/** A plugin that tries everything and returns what worked. */
const spy = `
import { connect } from 'node:net'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
const works = (run) => { try { run(); return true } catch { return false } }
export default async ({ input }, context) => {
  const reached = await new Promise((resolve) => connect(input.port, '127.0.0.1').once('connect', () => resolve(true)).once('error', () => resolve(false)))
  return { ok: true, output: {
    own: works(() => readFileSync(input.root + '/spy.js')),
    workspace: works(() => readFileSync(input.workspace + '/a.txt')),
    outside: works(() => readFileSync(input.outside)),
    home: works(() => readFileSync(input.home + '/.vtcode/token')),
    changes: works(() => writeFileSync(input.workspace + '/made.txt', 'x')),
    itself: works(() => writeFileSync(input.root + '/more.js', 'x')),
    data: works(() => writeFileSync(context.plugin.data + '/x', 'x')),
    programs: works(() => execFileSync('/bin/sh', ['-c', 'true'])),
    reached,
  } }
}
`
const input = {
  properties: Object.fromEntries(['root', 'workspace', 'outside', 'home'].map((name) => [name, { type: 'string' }])),
}
const server = createServer((socket) => socket.end())
let place: TempWorkspace
beforeAll(async () => {
  place = await tempWorkspace({ 'secret.txt': 'x' })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server.close()
  await place[Symbol.asyncDispose]()
})

async function tried(
  effects: string[],
  plugins: 'auto' | 'off' | 'required' = 'auto',
): Promise<{ result: unknown; output: Record<string, boolean> }> {
  const manifest = {
    name: 'spy',
    description: 'Tries.',
    effects,
    input: { properties: { ...input.properties, port: { type: 'integer' } } },
    module: './spy.js',
  }
  await using own = await tempWorkspace({ 'spy.js': spy, 'spy.yaml': JSON.stringify(manifest) })
  await using vt = await bootKernel({
    manifests: [join(own.root, 'spy.yaml')],
    files: { 'a.txt': 'one\n' },
    config: { plugins: { isolate: 'auto' }, sandbox: { plugins } },
  })
  await mkdir(join(vt.home, '.vtcode'), { recursive: true })
  await writeFile(join(vt.home, '.vtcode/token'), 'x')
  const { port } = server.address() as { port: number }
  const result = await vt.call('spy', {
    root: own.root,
    workspace: vt.root,
    outside: join(place.root, 'secret.txt'),
    home: vt.home,
    port,
  })
  return { result, output: result.ok ? (result.output as Record<string, boolean>) : {} }
}

describe('isolated plugin: sandbox', () => {
  const least = {
    own: true,
    workspace: true,
    outside: false,
    home: false,
    changes: false,
    itself: false,
    data: true,
    programs: false,
    reached: false,
  }

  it('allows a plugin to read the workspace and its own folder, to write its data, and nothing else', async () => {
    expect((await tried(['read'])).output).toEqual(least)
  })

  it.each([
    // Changes of the workspace go through the context, where rules judge them.
    ['write', {}],
    ['net', { reached: true }],
    ['exec', { programs: true, outside: true, home: true }],
  ])('allows a plugin only what the effect %s adds', async (effect, more) => {
    // With the effect exec the machine is readable except for secrets, and /tmp is empty.
    const { output } = await tried(['read', effect])
    expect({ ...output, outside: false, home: false }).toEqual({ ...least, ...more, outside: false, home: false })
  })

  it('gives no part of a plugin the access of another part', async () => {
    await using own = await tempWorkspace({
      'kit/vtcode/wide.yaml':
        'name: wide\ndescription: Does all.\neffects: [read, write, exec, net]\nmodule: ../spy.js\n',
      'kit/vtcode/narrow.yaml': 'name: narrow\ndescription: Reads.\neffects: [read]\nmodule: ../spy.js\n',
      'kit/spy.js': `import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
const works = (run) => { try { run(); return true } catch { return false } }
export default () => ({ ok: true, output: {
  pid: process.pid,
  programs: works(() => execFileSync('/bin/sh', ['-c', 'true'])),
  changes: works(() => writeFileSync(process.env.VTCODE_WORKSPACE + '/made.txt', 'x')),
} })
`,
    })
    await using vt = await bootKernel({
      manifests: [join(own.root, 'kit')],
      mode: 'auto',
      config: { plugins: { isolate: 'auto' }, policy: { allow: ['exec', 'net'] } },
    })
    const [wide, narrow] = [await vt.call('wide', {}), await vt.call('narrow', {})]
    matches(wide, { ok: true, output: { programs: true, changes: false } })
    matches(narrow, { ok: true, output: { programs: false, changes: false } })
  })

  it('hides the files of the workspace that rules hide', async () => {
    await using own = await tempWorkspace({
      'spy.yaml': 'name: spy\ndescription: Reads.\neffects: [read, exec]\nmodule: ./spy.js\n',
      'spy.js': `import { readFileSync } from 'node:fs'
const read = (path) => { try { return readFileSync(process.env.VTCODE_WORKSPACE + '/' + path, 'utf8') } catch { return '' } }
export default () => ({ ok: true, output: { read: ['a.txt', '.env', 'sub/.env', 'keys/deep/one.txt'].map(read) } })
`,
    })
    await using vt = await bootKernel({
      manifests: [own.root],
      files: { 'a.txt': 'one', '.env': 'two', 'sub/.env': 'three', 'keys/deep/one.txt': 'four' },
      config: { plugins: { isolate: 'auto' }, policy: { deny: ['Read(**/.env)', 'Read(keys/**)'] } },
    })
    matches(await vt.call('spy', {}), { ok: true, output: { read: ['one', '', '', ''] } })
  })

  it('runs a plugin in a plain process when the user turns the sandbox off', async () => {
    expect(Object.values((await tried(['read'], 'off')).output)).toEqual(Array(9).fill(true))
  })

  it('refuses to run a plugin where a sandbox is required and missing', async () => {
    const { PATH } = process.env
    process.env['PATH'] = '/nonexistent'
    try {
      matches((await tried(['read'], 'required')).result, {
        ok: false,
        error: { code: 'VT_PLUGIN_IMPORT', message: 're:.*bubblewrap.*not installed.*' },
      })
      expect((await tried(['read'], 'auto')).output['outside']).toBe(true)
    } finally {
      process.env['PATH'] = PATH
    }
  })
})
