import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hold } from '../support/held.js'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { vtcode } from '../support/program.js'
import { bootWords, listNotices, PACKAGES, PATIENT } from '../support/language_servers.js'

it('lists the built-in definitions of language servers, each active', async () => {
  const ws = hold(await bootKernel())
  const found = ws.kernel.inspection.contributions().filter(({ kind }) => kind === 'language_server')
  expect(found.map(({ id }) => id).sort()).toEqual(
    [
      'basedpyright',
      'bash',
      'clangd',
      'css',
      'gopls',
      'html',
      'json',
      'pyright',
      'rust_analyzer',
      'typescript',
      'typescript_native',
      'yaml',
    ].map((name) => `builtin:${name}`),
  )
  expect(found.every(({ state, language_server }) => state === 'active' && language_server !== undefined)).toBe(true)
})

it('uses typescript-language-server where the project has an older TypeScript', async () => {
  const files = {
    'tsconfig.json': '{ "compilerOptions": { "strict": true } }',
    'a.ts': 'export const a: number = 1\n',
    'b.ts': "import { a } from './a'\nexport const b: number = a\n",
  }
  const env = { PATH: `${join(PACKAGES, '.bin')}:${process.env['PATH']}` }
  const ws = hold(await bootKernel({ files, config: PATIENT, env }))
  mkdirSync(join(ws.root, 'node_modules'))
  symlinkSync(join(PACKAGES, 'typescript'), join(ws.root, 'node_modules/typescript'))
  const found: string[] = []
  const change = async (path: string, content: string) =>
    void found.push(
      ...listNotices(
        await ws.call('unified_file', { action: 'write', path, content, overwrite: true }),
        'VT_DIAGNOSTICS_NEW',
      ),
    )
  await change('a.ts', 'export const a: number = ""\n')
  // The server sends nothing for a file that stays clean; what it sends later is shown with a later change.
  let round = 0
  await expect.poll(async () => (await change('c.ts', `export const c = ${(round += 1)}\n`), found)).not.toEqual([])
  expect(found).toEqual([
    "This change added 1 error:\na.ts:1:14: error 2322: Type 'string' is not assignable to type 'number'.",
  ])
  expect(
    await ws.call('unified_file', { action: 'rename', path: 'a.ts', line: 1, symbol: 'a', new_name: 'renamed' }),
  ).toMatchObject({ output: { files: 2, total: 3 } })
  expect(await ws.read('b.ts')).toBe("import { renamed } from './a'\nexport const b: number = renamed\n")
})

describe('the process of a language server', () => {
  const files = { 'a.words': 'one', 'b/b.words': 'two' }
  const findProcess = async (ws: Booted, session: string, path = 'a.words') => {
    const result = await ws.call('unified_search', { action: 'diagnostics', path }, { session })
    return result.ok && result.text
  }

  it('serves all sessions of a workspace', async () => {
    const ws = hold(await bootWords('named', { files }))
    const sessions = Array.from({ length: 20 }, (_, at) => `session-${at}`)
    const found = await Promise.all(sessions.map((session) => findProcess(ws, session)))
    expect(found[0]).toContain('process 0.')
    expect(new Set(found).size).toBe(1)
    await ws.kernel.endSession('session-0')
    expect(await findProcess(ws, 'session-1')).toBe(found[0])
  })

  it('ends with its last session', async () => {
    const ws = hold(await bootWords('named', { files }))
    const first = await findProcess(ws, 'one')
    await ws.kernel.endSession('one')
    expect(await findProcess(ws, 'two')).not.toBe(first)
  })

  it('ends when it is idle, and starts again on its next use', async () => {
    const ws = hold(
      await bootWords('named', { files, config: { ...PATIENT, language_servers: { idle_minutes: 0.01 } } }),
    )
    const first = await findProcess(ws, 'one')
    // Asking keeps it alive, so each question waits longer than the idle time.
    await expect.poll(() => findProcess(ws, 'one'), { interval: 1_200 }).not.toBe(first)
  })

  it('starts again when the installed packages change', async () => {
    const ws = hold(await bootWords('named', { files }))
    const first = await findProcess(ws, 'one')
    expect(await findProcess(ws, 'one')).toBe(first)
    await ws.write('packages.lock', 'new')
    expect(await findProcess(ws, 'one')).not.toBe(first)
  })

  it('writes no file, reads no hidden one and reaches no network', async () => {
    const config = { ...PATIENT, policy: { deny: ['Read(hidden.txt)'] } }
    const ws = hold(await bootWords('reaches', { files: { ...files, 'hidden.txt': 'key' }, config }))
    expect(await findProcess(ws, 'one')).toMatch(/error: EROFS (?:empty|EACCES) ENETUNREACH\n/)
    expect(await ws.read('made.txt')).toBeUndefined()
  })

  it('runs no program of the project outside of the sandbox', async () => {
    const ws = hold(await bootKernel({ files, config: { language_servers: { sandbox: 'off' } } }))
    await ws.write('node_modules/typescript/package.json', '{ "version": "7.0.0", "bin": { "tsc": "tsc.sh" } }')
    await ws.write('node_modules/typescript/tsc.sh', '#!/bin/sh\ntouch started\n')
    chmodSync(join(ws.root, 'node_modules/typescript/tsc.sh'), 0o755)
    await ws.write('a.ts', '')
    expect(await ws.call('unified_search', { action: 'diagnostics', path: 'a.ts' })).toMatchObject({
      error: { code: 'VT_LANGUAGE_SERVER_FAILED', message: expect.stringContaining('runs only in the sandbox') },
    })
  })

  it('starts from a package of the project', async () => {
    const ws = hold(await bootKernel({ files: { 'a.ts': 'BAD' } }))
    await ws.write('node_modules/typescript/package.json', '{ "version": "7.0.0", "bin": { "tsc": "./tsc.mjs" } }')
    const program = join(ws.root, 'node_modules/typescript/tsc.mjs')
    copyFileSync(join(import.meta.dirname, '../fixtures/language_server.mjs'), program)
    chmodSync(program, 0o755)
    expect(await findProcess(ws, 'one', 'a.ts')).toContain('a.ts:1:1: error E1: bad: BAD')
  })

  it('runs no program that a link of the project names elsewhere', async () => {
    const ws = hold(await bootKernel({ files: { 'a.yaml': '', 'node_modules/.bin/x': '' } }))
    const program = join(ws.home, 'node_modules/other/cli.sh')
    mkdirSync(dirname(program), { recursive: true })
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 })
    symlinkSync(program, join(ws.root, 'node_modules/.bin/yaml-language-server'))
    expect(await ws.call('unified_search', { action: 'diagnostics', path: 'a.yaml' })).toMatchObject({
      error: { message: expect.stringContaining('its program leads out of the workspace') },
    })
  })

  it('runs no program that a package of the project names outside of its folder', async () => {
    const files = {
      'a.ts': '',
      'node_modules/typescript/package.json': '{ "version": "7.0.0", "bin": { "tsc": "../other/tsc.sh" } }',
      'node_modules/other/tsc.sh': '#!/bin/sh\n',
    }
    const ws = hold(await bootKernel({ files, env: { PATH: '/nowhere' } }))
    chmodSync(join(ws.root, 'node_modules/other/tsc.sh'), 0o755)
    expect(await ws.call('unified_search', { action: 'diagnostics', path: 'a.ts' })).toMatchObject({
      error: { code: 'VT_LANGUAGE_SERVER_MISSING' },
    })
  })

  it('runs no program of the project outside of the sandbox that a definition names without its path', async () => {
    const server = { command: 'marks-ls', languages: { '.marks': 'marks' } }
    const manifest = { name: 'marks', kind: 'language_server', description: 'Marks.', language_server: server }
    const program = 'node_modules/.bin/marks-ls'
    const files = {
      'x.marks': '',
      '.vtcode/plugins/acme/vtcode/marks.yaml': JSON.stringify(manifest),
      [program]: '#!/bin/sh\ntouch started\n',
    }
    await using made = await tempWorkspace(files)
    chmodSync(join(made.root, program), 0o755)
    await vtcode(made, ['trust', 'add', '--all'])
    const settings = ['-c', 'language_servers.sandbox=off']
    const asked = await vtcode(made, [...settings, 'call', 'unified_search', 'diagnostics', '--path', 'x.marks'])
    expect(asked.stdout).toContain('runs only in the sandbox')
    expect(await made.read('started')).toBeUndefined()
  })
})
