import { chmodSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { eventually, lacks, nap, processesWith } from '../../support/exec.js'
import { hold } from '../../support/held.js'
import { vtcode } from '../../support/program.js'

const manifest = (name: string) => `name: ${name}\ndescription: Is broken.\neffects: [read]\nmodule: ./${name}.js\n`
const modules = {
  throws: "throw new Error('on import')",
  hangs: 'await new Promise(() => setInterval(() => {}, 1000))',
  exports_nothing: 'export const a = 1',
  good: 'export default () => ({ ok: true, output: { fine: true } })',
}

async function broken(): Promise<TempWorkspace> {
  const made = await tempWorkspace({ 'a.txt': 'hello\n' })
  for (const [name, code] of Object.entries(modules)) {
    await made.write(`../home/tools/${name}.yaml`, manifest(name))
    await made.write(`../home/tools/${name}.js`, code)
  }
  await made.write('../home/tools/missing.yaml', manifest('missing'))
  await made.write('../home/tools/not_yaml.yaml', 'name: [\n')
  await made.write('../home/tools/wrong.yaml', 'name: wrong\ndescription: x\neffects: [fly]\nmodule: ./good.js\n')
  await made.write(
    '../home/.vtcode/vtcode.config.yaml',
    `manifests: [builtin, '${made.home}/tools']\nplugins: { import_timeout_secs: 3 }\n`,
  )
  return made
}

describe('vtcode doctor', () => {
  it('finds nothing in a fresh install when it imports each module', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['doctor', '--probe'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing to fix.'),
    })
  })

  it('names the missing script of a hook with VT_HOOK_MISSING', async () => {
    await using made = await tempWorkspace()
    await made.write(
      '../home/.vtcode/vtcode.config.yaml',
      'hooks: { PreToolUse: [{ hooks: [{ command: python3 /nowhere/guard.py }] }] }\n',
    )
    const { code, stdout } = await vtcode(made, ['doctor'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/VT_HOOK_MISSING .*guard\.py` names a file that is missing: \/nowhere\/guard\.py/)
  })

  it('reports nothing to fix in a healthy workspace', async () => {
    await using made = await tempWorkspace()
    expect(await vtcode(made, ['doctor'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing to fix.'),
    })
  })

  it('reports whether commands run in a sandbox, and the consequences when they do not', async () => {
    await using made = await tempWorkspace()
    const told = async (settings: string, env: Record<string, string> = {}) => {
      await made.write('../home/.vtcode/vtcode.config.yaml', settings)
      return {
        text: (await vtcode(made, ['doctor'], { env })).stdout,
        ...JSON.parse((await vtcode(made, ['doctor', '--json'], { env })).stdout).sandbox,
      }
    }
    expect(await told('sandbox: { mode: off }\n')).toMatchObject({
      mode: 'off',
      used: false,
      text: expect.stringMatching(/sandbox .*may outlive its session/),
    })
    const bare = { PATH: '/nonexistent' }
    expect(await told('{}\n', bare)).toMatchObject({
      mode: 'auto',
      used: false,
      missing: expect.stringContaining('bwrap'),
      text: expect.stringContaining('may outlive'),
    })
    expect(await told('sandbox: { mode: required }\n', bare)).toMatchObject({
      used: false,
      text: expect.stringContaining('no command runs'),
    })
  })

  it('names a process that left the group of its command without a sandbox and still runs', async () => {
    await using made = await tempWorkspace()
    await made.write(
      '../home/.vtcode/vtcode.config.yaml',
      'sandbox: { mode: off }\npolicy: { allow: [unified_exec/run] }\n',
    )
    const sleep = nap()
    const run = await vtcode(made, [
      'call',
      '--mode',
      'auto',
      'unified_exec',
      'run',
      // Without this, the process ends with the session of the call.
      '--background',
      'true',
      '--yield-time-ms',
      '30000',
      '--command',
      `setsid sh -c 'touch up; exec ${sleep}' >/dev/null 2>&1 & until [ -e up ]; do sleep 0.02; done`,
    ])
    await eventually(() => processesWith(sleep.replace(' ', '\0')).length > 0)
    const [pid] = processesWith(sleep.replace(' ', '\0'))
    try {
      expect({ ...JSON.parse(run.stdout), pid }).toMatchObject({ ok: true, pid: expect.any(Number) })
      expect((await vtcode(made, ['doctor'])).stdout).toContain(
        `process ${pid} outlived its command and program: ${sleep}\n`,
      )
    } finally {
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    }
  })

  it('lists the hosts that settings exempt from the rule of public addresses', async () => {
    await using made = await tempWorkspace()
    await made.write('../home/.vtcode/vtcode.config.yaml', 'web: { private_hosts: [wiki.lan, 10.0.0.0/8] }\n')
    expect((await vtcode(made, ['doctor'])).stdout).toMatch(/web .*wiki\.lan, 10\.0\.0\.0\/8/)
    expect(JSON.parse((await vtcode(made, ['doctor', '--json'])).stdout).web).toEqual({
      private_hosts: ['wiki.lan', '10.0.0.0/8'],
    })
  })

  it('names unreadable manifests by file and line, and runs no plugin', async () => {
    await using made = await broken()
    const ran = await vtcode(made, ['doctor'])
    expect(ran.code).toBe(1)
    expect(ran.stdout).toMatch(/not_yaml\.yaml:\d/)
    expect(ran.stdout).toMatch(/wrong\.yaml:3/)
    expect(ran.stdout).not.toContain('on import')
  })

  it('imports everything with --probe and finds what throws, hangs, is missing or exports nothing', async () => {
    await using made = await broken()
    const ran = await vtcode(made, ['doctor', '--probe', '--json'])
    const { diagnostics, contributions } = JSON.parse(ran.stdout)
    const texts = diagnostics
      .map(({ files, message }: { files: string[]; message: string }) => `${files} ${message}`)
      .join('\n')
    for (const name of ['throws', 'hangs', 'exports_nothing', 'missing']) expect(texts).toContain(`${name}.yaml`)
    expect(texts).not.toContain('good.yaml')
    expect(contributions.length).toBeGreaterThan(10)
    expect(ran.code).toBe(1)
  })

  it('imports one plugin again with --retry, and no other', async () => {
    await using made = await broken()
    expect((await vtcode(made, ['doctor', '--retry', 'nobody'])).code).toBe(2)
    expect((await vtcode(made, ['doctor', '--retry', 'user:throws'])).stdout).toMatch(
      /throws\.js of user:throws throws on import: on import/,
    )
    await made.write('../home/tools/throws.js', modules.good)
    expect((await vtcode(made, ['doctor', '--retry', 'user:throws'])).stdout).not.toMatch(/on import|top-level await/)
  })

  it('keeps every other tool working when plugins are broken', async () => {
    await using made = await broken()
    expect((await vtcode(made, ['call', 'good'])).code).toBe(0)
    expect((await vtcode(made, ['call', 'unified_file', 'read', '--path', 'a.txt'])).code).toBe(0)
    expect(JSON.parse((await vtcode(made, ['call', 'throws'])).stdout)).toMatchObject({
      ok: false,
      error: { code: 'VT_PLUGIN_IMPORT' },
    })
  })

  it('ends with 3 when a settings file is wrong, and names it', async () => {
    await using made = await tempWorkspace({ 'vtcode.config.yaml': 'nonsense: 1\n' })
    expect(await vtcode(made, ['doctor'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('vtcode.config.yaml'),
    })
  })
})

const none = lacks('bwrap')
/** Makes a bubblewrap that only keeps processes apart: every other attempt in it succeeds. */
const weak = `#!/bin/bash
while [ $# -gt 0 ] && [ "$1" != -- ]; do [ "$1" = --chdir ] && folder=$2; shift; done
shift
cd "$folder" && exec /usr/bin/bwrap --unshare-pid --die-with-parent --dev-bind / / --proc /proc -- "$@"
`

/** Makes one that leaves the control group of its processes and lifts their limit, and is otherwise full. */
const unbounded = `#!/bin/bash
for file in /sys/fs/cgroup/pids/cgroup.procs /sys/fs/cgroup/cgroup.procs; do [ -w $file ] && echo $$ >$file; done 2>/dev/null
args=()
for arg; do args+=("\${arg//ulimit -u 1024 || ulimit -p 1024/:}"); done
exec /usr/bin/bwrap "\${args[@]}"
`

describe.skipIf(none)(`vtcode doctor --sandbox${none ? ' (SKIPPED: needs bwrap)' : ''}`, () => {
  it('attempts everything that the sandbox prevents and reports that each attempt failed', async () => {
    await using made = await tempWorkspace()
    const { code, stdout, stderr } = await vtcode(made, ['doctor', '--sandbox'])
    expect({ code, stderr, open: stdout.split('\n').filter((line) => !line.startsWith('held  ')) }).toEqual({
      code: 0,
      stderr: '',
      open: [''],
    })
    for (const who of ['Codex', 'Claude', 'Gemini', 'opencode', 'Copilot', 'cargo', 'vault', 'rclone', 'PostgreSQL']) {
      expect(stdout).toContain(`held  reading the login of ${who}\n`)
      expect(stdout).toContain(`held  reading the login of ${who} where the home is the workspace\n`)
    }
    expect(stdout.split('\n').length).toBeGreaterThan(45)
  })

  it('reports an unlimited number of processes and the sockets that the settings leave visible as open', async () => {
    await using made = await tempWorkspace()
    const path = `/var/tmp/vtcode-doctor-${process.pid}.sock`
    const server = createServer().listen(path)
    hold({ [Symbol.asyncDispose]: async () => void server.close() })
    await new Promise((resolve) => server.once('listening', resolve))
    await made.write('../home/.vtcode/vtcode.config.yaml', `sandbox: { readable: ['${path}'] }\n`)
    await made.write('../home/bin/bwrap', unbounded)
    const bin = join(made.home, 'bin')
    chmodSync(join(bin, 'bwrap'), 0o755)
    const { code, stdout } = await vtcode(made, ['doctor', '--sandbox'], {
      env: { PATH: `${bin}:${process.env.PATH}` },
    })
    const open = stdout.split('\n').filter((line) => !line.startsWith('held  '))
    expect({ code, open: open.sort() }).toEqual({
      code: 1,
      open: ['', expect.stringMatching(/^open {2}more than 2048 processes/), `open  sockets of the machine: ${path}`],
    })
  })

  it('reports what a weaker sandbox leaves open, and runs no command in it', async () => {
    await using made = await tempWorkspace({ 'bin/bwrap': weak })
    const bin = join(made.home, 'bin')
    await made.write('../home/bin/bwrap', weak)
    chmodSync(join(bin, 'bwrap'), 0o755)
    const env = { PATH: `${bin}:${process.env.PATH}` }
    // A process of its own, since a process caches the sandbox that it found.
    const { code, stdout } = await vtcode(made, ['doctor', '--sandbox', '--json'], { env, process: true })
    const open = (JSON.parse(stdout).attempts as { name: string; held: boolean }[]).flatMap(({ name, held }) =>
      held ? [] : [name],
    )
    expect(code).toBe(1)
    for (const name of [
      'writing outside the workspace',
      'reading outside the workspace',
      'making user namespaces',
      'the network',
      'reading the state of the machine',
      'reading paths that settings deny',
      'writing git settings',
      'writing settings of this program',
      'reading the login of Codex',
      'reading the login of Codex where the home is the workspace',
      'writing shell start files',
    ]) {
      expect(open).toContain(name)
    }
    await made.write('../home/.vtcode/vtcode.config.yaml', 'sandbox: { mode: required }\n')
    const run = await vtcode(made, ['call', '--mode', 'auto', 'unified_exec', 'run', '--command', 'ls'], {
      env,
      process: true,
    })
    expect(JSON.parse(run.stdout)).toMatchObject({
      ok: false,
      error: {
        code: 'VT_EXEC_SANDBOX',
        message: expect.stringContaining(
          'the tests of bubblewrap failed: it does not prevent writing outside the workspace',
        ),
      },
    })
  })
})
