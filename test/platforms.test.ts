import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { hasTest } from './house/titles.js'
import { sources, textOf } from './house/sources.js'
import { eventually, rounds } from './support/exec.js'
import { hold } from './support/inside.js'
import { call, home, startPeer, vtcode as run } from './support/peer.js'
import { as, bin, vtcode } from './support/program.js'
import { serve } from './support/server.js'

// Other systems are simulated: a variable makes the program act as on them. Their own parts (their
// programs, their file systems) is not tried by this.
const build = join(bin, '../../../build')
const place = async (files: Record<string, string> = {}): Promise<TempWorkspace> =>
  hold(await tempWorkspace({ '.git/HEAD': '', ...files }))
/** Calls a tool on such a system. */
async function made(
  at: TempWorkspace,
  platform: string,
  words: string[],
  env: Record<string, string> = {},
): Promise<any> {
  const { stdout, stderr } = await vtcode(at, ['--mode', 'auto', '-c', 'policy.allow=["exec"]', 'call', ...words], {
    env: { ...as(platform), ...env },
  })
  if (!stdout) throw new Error(stderr)
  return JSON.parse(stdout)
}
/** Runs a program of modules on such a system; answers what it prints and how it ends. */
function script(
  at: TempWorkspace,
  platform: string,
  text: string,
): Promise<{ out: string; end: number | NodeJS.Signals | null }> {
  writeFileSync(join(at.home, 'script.mjs'), text)
  const child = spawn(process.execPath, [join(at.home, 'script.mjs')], {
    cwd: at.root,
    env: { PATH: process.env['PATH']!, HOME: at.home, TMPDIR: at.home, ...as(platform) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += String(chunk)))
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ out, end: signal ?? code })))
}
/** Makes calls one after the other in one process on such a system; answers all results. */
async function calls(at: TempWorkspace, platform: string, list: [tool: string, input: object][]): Promise<any[]> {
  const { out } = await script(
    at,
    platform,
    `import { createKernel } from '${bin}/../index.js'
    const settings = { workspace: '.', home: process.env.HOME, env: process.env, mode: 'auto', config: { policy: { allow: ['exec'] } } }
    const kernel = await createKernel(settings)
    const results = []
    for (const [tool, input] of ${JSON.stringify(list)}) results.push(await kernel.call(tool, input))
    await kernel.close()
    console.log(JSON.stringify(results))`,
  )
  return JSON.parse(out)
}
const program = (file: string, text: string): void => {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

/** Every source that asks on which system it runs, with the test that stands in for another one. */
const proved: Record<string, string> = {
  'core/workspace/workspace.ts': 'refuses to start on Windows with every verb and the library, and says what to do',
  'core/files/directory.ts': 'follows no link outside on macOS, also while a folder is swapped for one',
  'core/workspace/lock.ts': 'locks files for one process at a time on macOS, also after one was killed',
  'core/files/attributes.ts': 'reads, writes, edits, copies, searches and restores files on macOS',
  'core/files/tree.ts': 'reads, writes, edits, copies, searches and restores files on macOS',
  'core/cli/crash.ts': 'names macOS in the crash report, in doctor and to a model',
  'core/manifests/requirements.ts': "applies a plugin's requirement on the system and a bundle's program for macOS",
  'plugins/adapter/packages/mcpb.ts': "applies a plugin's requirement on the system and a bundle's program for macOS",
  'plugins/lib/net/loopback_login.ts': 'opens the login page with the program of macOS',
  'plugins/lib/process/resource_limits.ts': 'reads, writes, edits, copies, searches and restores files on macOS',
  'plugins/lib/process/pipes.ts':
    'runs programs on macOS and captures their output; grants a terminal or refuses it with a code',
  'plugins/lib/sandbox/probe.ts': 'reports in doctor that macOS has no sandbox, and refuses what needs one',
  'plugins/lib/syntax/ast_grep.ts': 'fetches ast-grep for macOS, and outlines without it',
  'plugins/lib/syntax/ast_grep_install.ts': 'fetches ast-grep for macOS, and outlines without it',
  'plugins/lib/values/values.ts': 'keeps secrets in the keychain of macOS',
  'plugins/surface/schedule/serve.ts': 'installs a launch agent as scheduler on macOS',
  'plugins/unified_exec/session/pty.ts':
    'runs programs on macOS and captures their output; grants a terminal or refuses it with a code',
  'plugins/unified_search/agent.ts': 'names macOS in the crash report, in doctor and to a model',
  'plugins/surface/doctor.ts': 'names macOS in the crash report, in doctor and to a model',
}

it('lists a test on another system for every source that reads process.platform', () => {
  expect(sources.filter((file) => textOf(file).includes('process.platform')).sort()).toEqual(Object.keys(proved).sort())
  expect(Object.values(proved).filter((title) => !hasTest('test/platforms.test.ts', title))).toEqual([])
})

describe('Windows', () => {
  it('refuses to start on Windows with every verb and the library, and says what to do', async () => {
    const at = await place({ 'a.txt': 'x' })
    for (const words of [
      ['call', 'unified_file', 'read', '--path', 'a.txt'],
      ['doctor'],
      ['exec', 'go'],
      ['help'],
      ['mcp'],
    ]) {
      const ran = await vtcode(at, words, { env: as('win32') })
      expect(ran, words.join(' ')).toMatchObject({
        code: 1,
        stdout: words[0] === 'call' ? expect.stringMatching(/^\{"ok":false,"error":\{"code":"VT_PLATFORM",/) : '',
        stderr: expect.stringMatching(/^vtcode: error: vtcode does not run on Windows itself\.\n {2}Install it in WSL/),
      })
    }
    expect(await vtcode(at, ['--version'], { env: as('win32') })).toMatchObject({ code: 0, stderr: '' })
    const { out } = await script(
      at,
      'win32',
      `import { createKernel } from '${bin}/../index.js'\ncreateKernel({ workspace: '.' }).catch(({ problem }) => console.log(problem.code))`,
    )
    expect(out).toBe('VT_PLATFORM\n')
  })
})

describe('macOS', () => {
  it('reports in doctor that macOS has no sandbox, and refuses what needs one', async () => {
    const at = await place()
    const { stdout } = await vtcode(at, ['doctor'], { env: as('darwin') })
    expect(stdout).toMatch(
      /^sandbox +none, because the sandbox needs Linux: commands have all your rights, and a process that leaves its group may outlive its session$/m,
    )
    expect(await vtcode(at, ['doctor', '--sandbox'], { env: as('darwin') })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('the sandbox needs Linux'),
    })
    const needed = await vtcode(
      at,
      [
        '--mode',
        'auto',
        '-c',
        'sandbox.mode=required',
        '-c',
        'policy.allow=["exec"]',
        'call',
        'unified_exec',
        'run',
        '--command',
        'touch made',
      ],
      { env: as('darwin') },
    )
    expect(JSON.parse(needed.stdout)).toMatchObject({
      ok: false,
      error: { code: 'VT_EXEC_SANDBOX', message: expect.stringContaining('needs Linux') },
    })
    expect(readdirSync(at.root)).not.toContain('made')
  })

  it('names macOS in the crash report, in doctor and to a model', async () => {
    const at = await place()
    expect((await vtcode(at, ['doctor'], { env: as('darwin') })).stdout).toMatch(/^vtcode .* darwin /m)
    expect((await made(at, 'darwin', ['unified_search', 'agent'])).output.platform).toMatch(/^darwin /)
    await script(
      at,
      'darwin',
      `import { writeCrashReport } from '${build}/core/cli/index.js'\nwriteCrashReport(new Error('x'), '${at.home}')`,
    )
    expect(readFileSync(join(at.home, 'reports', readdirSync(join(at.home, 'reports'))[0]!), 'utf8')).toMatch(
      / darwin /,
    )
  })

  it("applies a plugin's requirement on the system and a bundle's program for macOS", async () => {
    const at = await place()
    const plugin = join(at.home, 'hello')
    mkdirSync(plugin)
    writeFileSync(
      join(plugin, 'vtcode.yaml'),
      'name: hello\ndescription: x\nrun: [echo, hello]\nrequires: { os: [linux] }\n',
    )
    await vtcode(at, ['plugins', 'add', plugin, '--yes'])
    expect(await made(at, 'linux', ['hello'])).toMatchObject({ ok: true })
    expect(await made(at, 'darwin', ['hello'])).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
    expect((await vtcode(at, ['plugins', 'list'], { env: as('darwin') })).stdout).toContain(
      'needs linux; this is darwin',
    )
    const bundle = join(at.home, 'bundle')
    mkdirSync(bundle)
    writeFileSync(
      join(bundle, 'manifest.json'),
      JSON.stringify({
        manifest_version: '0.3',
        name: 's',
        server: {
          type: 'node',
          mcp_config: { command: 'on-linux', platform_overrides: { darwin: { command: 'on-a-mac' } } },
        },
      }),
    )
    const added = async (platform: string) =>
      (await vtcode(at, ['plugins', 'add', bundle, '--yes', '--name', platform], { env: as(platform) })).stderr
    expect([await added('linux'), await added('darwin')]).toEqual([
      expect.stringContaining('on-linux'),
      expect.stringContaining('on-a-mac'),
    ])
  })

  it('opens the login page with the program of macOS', async () => {
    const server = hold(await serve((_, response) => response.writeHead(404).end()))
    const at = hold(
      await home(
        server,
        {},
        {
          provider: {
            auth: {
              type: 'oauth',
              client_id: 'us',
              authorization_url: `${server.url}/authorize`,
              token_url: `${server.url}/token`,
            },
          },
        },
      ),
    )
    program(join(at.home, 'bin/open'), `echo "$1" > '${at.home}/draft'; mv '${at.home}/draft' '${at.home}/opened'`)
    const child = spawn(process.execPath, [bin, 'models', 'login', 'peer'], {
      cwd: at.root,
      env: { ...at.env, ...as('darwin'), PATH: `${at.home}/bin:${at.env['PATH']}` },
      stdio: 'ignore',
    })
    const over = new Promise((resolve) => child.on('close', resolve))
    expect(await eventually(() => readdirSync(at.home).includes('opened'))).toBe(true)
    child.kill('SIGINT')
    await over
    expect(readFileSync(join(at.home, 'opened'), 'utf8')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/)
  })

  it('keeps secrets in the keychain of macOS', async () => {
    const at = await place()
    program(join(at.home, 'bin/security'), 'printf "%s|" "$@"')
    mkdirSync(join(at.home, '.vtcode'))
    writeFileSync(
      join(at.home, '.vtcode/vtcode.config.yaml'),
      'exec: { env: { KEPT: { keychain: { service: s, account: a } } } }\n',
    )
    const said = 'find-generic-password|-w|-s|s|-a|a|'
    const env = { PATH: `${at.home}/bin:${process.env['PATH']}` }
    expect(
      await made(at, 'darwin', ['unified_exec', 'run', '--command', `[ "$KEPT" = '${said}' ] && echo the same`], env),
    ).toMatchObject({ output: { stdout: 'the same\n' } })
  })
})

describe('files on macOS', () => {
  it('reads, writes, edits, copies, searches and restores files on macOS', async () => {
    const at = await place({ 'src/a.js': 'export const a = 1\n', 'src/deep/b.js': 'export const b = 2\n' })
    chmodSync(join(at.root, 'src/a.js'), 0o755)
    const patch =
      '*** Begin Patch\n*** Update File: src/deep/b.js\n@@\n-export const b = 2\n+export const b = 4\n*** End Patch'
    const answers = await calls(at, 'darwin', [
      ['unified_file', { action: 'read', path: 'src/a.js' }],
      ['unified_file', { action: 'write', path: 'src/c.js', content: 'c' }],
      ['unified_file', { action: 'edit', path: 'src/a.js', old_str: '1', new_str: '3' }],
      ['unified_file', { action: 'copy', path: 'src', destination: 'copied', recursive: true }],
      ['unified_search', { action: 'grep', pattern: 'export', path: '.' }],
      ['unified_search', { action: 'list', path: '.' }],
      ['apply_patch', { patch }],
    ])
    expect(answers.filter(({ ok }) => !ok)).toEqual([])
    expect(answers).toHaveLength(7)
    expect((await made(at, 'darwin', ['unified_file', 'delete', '--path', 'src/c.js'])).ok).toBe(true)
    expect([
      await at.read('src/a.js'),
      await at.read('copied/deep/b.js'),
      await at.read('src/deep/b.js'),
      await at.read('src/c.js'),
      statSync(join(at.root, 'src/a.js')).mode & 0o777,
    ]).toEqual(['export const a = 3\n', 'export const b = 2\n', 'export const b = 4\n', undefined, 0o755])
    expect((await vtcode(at, ['undo'], { env: as('darwin') })).code).toBe(0)
    expect(await at.read('src/c.js')).toBe('c')
  })

  it('follows no link outside on macOS, also while a folder is swapped for one', async () => {
    const at = await place({ 'd/a.txt': 'inside' })
    mkdirSync(join(at.home, 'elsewhere'))
    writeFileSync(join(at.home, 'elsewhere/a.txt'), 'outside')
    symlinkSync(join(at.home, 'elsewhere'), join(at.root, 'out'))
    const refused = await calls(at, 'darwin', [
      ['unified_file', { action: 'read', path: 'out/a.txt' }],
      ['unified_file', { action: 'write', path: 'out/b.txt', content: 'x' }],
      ['unified_file', { action: 'read', path: '../home/elsewhere/a.txt' }],
    ])
    expect(refused).toMatchObject(Array(3).fill({ ok: false, error: { code: 'VT_PATH_OUTSIDE' } }))
    const swapping = spawn(
      process.execPath,
      [
        '-e',
        `const fs = require('node:fs'); for (;;) { fs.renameSync('d', 'e'); fs.symlinkSync('${at.home}/elsewhere', 'd'); fs.unlinkSync('d'); fs.renameSync('e', 'd'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1) }`,
      ],
      { cwd: at.root },
    )
    try {
      const { out } = await script(
        at,
        'darwin',
        `
        import { openWorkspace } from '${build}/core/workspace/index.js'
        const workspace = openWorkspace('.', { home: '/nowhere' })
        const seen = {}
        for (const end = Date.now() + ${rounds(500, 3000)}; Date.now() < end || !seen.inside; ) {
          const found = await workspace.readText('d/a.txt').catch(({ problem }) => problem.code)
          seen[found] = (seen[found] ?? 0) + 1
        }
        console.log(JSON.stringify(seen))`,
      )
      const seen = JSON.parse(out) as Record<string, number>
      expect(Object.keys(seen)).not.toContain('outside')
      expect(seen['inside']).toBeGreaterThan(0)
    } finally {
      swapping.kill('SIGKILL')
    }
  })

  it('locks files for one process at a time on macOS, also after one was killed', async () => {
    const at = await place({ 'n.txt': Array.from({ length: 6 }, (_, index) => `line ${index}\n`).join('') })
    const edits = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        made(at, 'darwin', [
          'unified_file',
          'edit',
          '--path',
          'n.txt',
          '--old_str',
          `line ${index}\n`,
          '--new_str',
          `done ${index}\n`,
        ]),
      ),
    )
    expect(edits.map(({ ok }) => ok)).toEqual(Array(6).fill(true))
    expect(await at.read('n.txt')).not.toContain('line')
    const taking = (then: string, patience = 20_000) =>
      script(
        at,
        'darwin',
        `import { lock } from '${build}/core/workspace/index.js'\nconst held = await lock(['k'], 'k', undefined, ${patience}).catch(({ problem }) => console.log(problem.details.errno))\n${then}`,
      )
    expect((await taking("process.kill(process.pid, 'SIGKILL')")).end).toBe('SIGKILL')
    expect(readdirSync(at.home).filter((name) => name.endsWith('.sock')).length).toBe(1)
    // One that is just being made refuses as this one does: it is not taken away at once.
    expect(await taking('', 200)).toEqual({ out: 'EBUSY\n', end: 0 })
    expect(readdirSync(at.home).filter((name) => name.endsWith('.sock')).length).toBe(1)
    expect(await taking("console.log('taken'); await held[Symbol.asyncDispose]()")).toEqual({ out: 'taken\n', end: 0 })
  })
})

describe('scheduler on macOS', () => {
  it('installs a launch agent as scheduler on macOS', async () => {
    const at = await place({})
    const { code, stdout } = await vtcode(at, ['schedule', 'install-service'], { env: as('darwin') })
    expect(code).toBe(0)
    const { file, text } = JSON.parse(stdout)
    expect(file).toBe(join(at.home, 'Library/LaunchAgents/dev.vtcode.scheduler.plist'))
    expect(text).toMatch(/^<\?xml[^]*<string>schedule<\/string>\s*<string>serve<\/string>/)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })
})

describe('programs on macOS', () => {
  it('runs programs on macOS and captures their output; grants a terminal or refuses it with a code', async () => {
    const at = await place()
    const [failed, long, terminal] = await calls(at, 'darwin', [
      ['unified_exec', { action: 'run', command: 'echo out; echo err >&2; exit 3' }],
      ['unified_exec', { action: 'run', command: 'seq 1 5000' }],
      ['unified_exec', { action: 'run', command: 'echo hello', tty: true }],
    ])
    expect(failed).toMatchObject({ output: { stdout: 'out\n', stderr: 'err\n', exit_code: 3 } })
    expect(long.output.stdout_bytes).toBe(execFileSync('seq', ['1', '5000']).length)
    // Its helper comes with a package that is installed there only.
    expect(terminal).toMatchObject({ ok: false, error: { code: 'VT_EXEC_PTY' } })
  })

  it('fetches ast-grep for macOS, and outlines without it', async () => {
    const at = await place({ 'a.py': 'def greet():\n    pass\n' })
    const registry = hold(await serve((_, response) => response.writeHead(404).end()))
    const env = { npm_config_registry: `${registry.url}/`, PATH: '/usr/bin:/bin', ...as('darwin') }
    expect((await vtcode(at, ['dependencies', 'install', 'ast-grep'], { env })).code).toBe(1)
    expect(registry.seen.map(({ path }) => path)).toEqual([
      expect.stringMatching(new RegExp(`^/@ast-grep/cli-darwin-${process.arch}/-/`)),
    ])
    expect(
      await made(at, 'darwin', ['unified_search', 'outline', '--path', 'a.py'], {
        VTCODE_AST_GREP_NO_INSTALL: '1',
        PATH: '/usr/bin:/bin',
      }),
    ).toMatchObject({ ok: true, text: expect.stringContaining('greet') })
  })

  it('runs an agent on macOS from task to end', async () => {
    const peer = hold(
      await startPeer([
        {
          toolCalls: [
            call('unified_file', { action: 'write', path: 'a.txt', content: 'hello' }),
            call('unified_exec', { action: 'run', command: 'cat a.txt' }),
          ],
        },
        { content: 'It says hello.' },
      ]),
    )
    const at = hold(
      await home(
        peer,
        {},
        {
          settings: { agent: { model: 'peer/m' }, policy: { allow: ['exec'] } },
          provider: { context_window: 128_000 },
        },
      ),
    )
    expect(await run(at, ['exec', '--quiet', 'go'], { env: as('darwin') })).toMatchObject({
      code: 0,
      out: 'It says hello.\n',
    })
    expect(JSON.stringify(peer.bodies.at(-1))).toContain('exit 0')
  })
})
