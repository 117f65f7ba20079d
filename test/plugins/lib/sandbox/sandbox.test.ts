import { spawnSync } from 'node:child_process'
import { existsSync, linkSync, mkdtempSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  confineCommand,
  findObstacle,
  findSandbox,
  prepareConfinement,
} from '../../../../build/plugins/lib/sandbox/index.js'
import { lacks } from '../../../support/exec.js'

const none = lacks('bwrap')
const settings = { network: false, deny_read: [], deny_write: [], writable: [], readable: [] }
let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'vt-box-')))
  mkdirSync(join(folder, 'ws'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const place = (more: object = {}) =>
  prepareConfinement({
    workspace: join(folder, 'ws'),
    own: join(folder, 'home/.vtcode'),
    writable: true,
    cwd: join(folder, 'ws'),
    shown: [],
    settings,
    ...more,
  })

describe('sandbox workspace', () => {
  it('refuses a workspace that holds the system or whose own names are links', async () => {
    expect(
      findObstacle({ workspace: '/', own: '/nowhere', writable: true, cwd: '/', shown: [], settings }),
    ).toMatchObject({
      path: '/',
      why: expect.stringContaining('the system'),
    })
    symlinkSync('/tmp', join(folder, 'ws/.vtcode'))
    expect(findObstacle(await place())).toMatchObject({
      path: join(folder, 'ws/.vtcode'),
      why: expect.stringContaining('symbolic link'),
    })
    rmSync(join(folder, 'ws/.vtcode'))
    expect(findObstacle(await place())).toBe(undefined)
  })
  it('refuses a workspace in which a file of git or of this program has a hard link', async () => {
    spawnSync('git', ['init', '-q'], { cwd: join(folder, 'ws') })
    expect(findObstacle(await place())).toBe(undefined)
    for (const name of ['.git/config', '.git/hooks/pre-commit', '.git/info/attributes', '.vtcode/tool-policy.json']) {
      const file = join(folder, 'ws', name)
      if (!existsSync(file)) writeFileSync(file, '')
      linkSync(file, join(folder, 'ws/other'))
      expect(findObstacle(await place())).toMatchObject({ path: file, why: expect.stringContaining('hard link') })
      rmSync(join(folder, 'ws/other'))
      expect(findObstacle(await place())).toBe(undefined)
    }
  })
})

describe.skipIf(none)(`sandboxed command${none ? ' (SKIPPED: needs bwrap)' : ''}`, () => {
  async function run(script: string, more: object = {}) {
    const found = await findSandbox(folder)
    if ('missing' in found) throw new Error(found.missing)
    const { readEnd, ...launch } = confineCommand(
      found.tools,
      { file: '/bin/sh', args: ['-c', script], cwd: '/', env: { PATH: '/usr/bin:/bin', LD_PRELOAD_X: 'kept' } },
      await place(more),
    )
    const { status, stdout } = spawnSync(launch.file, launch.args, {
      cwd: launch.cwd,
      env: launch.env,
      encoding: 'utf8',
    })
    return { stdout, status, ...readEnd(status) }
  }

  it('distinguishes a signal from an exit code and reports remaining children', async () => {
    expect(await run('kill -9 $$')).toMatchObject({ signal: 'SIGKILL', children: false })
    expect(await run('exit 137')).toEqual({ stdout: '', status: 137, children: false })
    expect(await run('sleep 60 & exit 3')).toEqual({ stdout: '', status: 3, children: true })
    expect(await run('echo forged >&9; echo children >/dev/fd/9')).toMatchObject({ children: false })
  })

  it('passes the given environment, a home of its own, and nothing that loads code', async () => {
    const { stdout } = await run('env', { home: join(folder, 'home') })
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0])
      .sort()
    expect(names.filter((name) => !['OLDPWD', '_', 'SHLVL'].includes(name!))).toEqual([
      'HOME',
      'LD_PRELOAD_X',
      'PATH',
      'PWD',
    ])
    expect(stdout).toContain(`HOME=${join(folder, 'home')}\n`)
  })

  it('shows tool folders of the home and no login next to them', async () => {
    const home = join(folder, 'home')
    for (const name of [
      '.cargo/bin/tool',
      '.cargo/credentials.toml',
      '.m2/settings.xml',
      '.m2/repository/a.jar',
      '.nvm/node',
      '.ssh/id',
    ]) {
      mkdirSync(join(home, name, '..'), { recursive: true })
      writeFileSync(join(home, name), 'x')
    }
    const { stdout } = await run('cd ~ && find . -type f | sort; touch .nvm/other || echo kept', { home })
    expect(stdout).toBe('./.cargo/bin/tool\n./.m2/repository/a.jar\n./.nvm/node\nkept\n')
  })
})

describe('sandbox tools', () => {
  it('uses no program of the workspace as bwrap, prlimit or env, by any name in PATH', async () => {
    const [bin, way, before] = [join(folder, 'ws/bin'), join(folder, 'way'), process.env['PATH']]
    mkdirSync(bin)
    for (const name of ['bwrap', 'prlimit', 'env'])
      writeFileSync(join(bin, name), `#!/bin/sh\ntouch ${join(folder, 'started')}\n`, { mode: 0o755 })
    symlinkSync(bin, way)
    try {
      for (const path of [bin, way]) {
        process.env['PATH'] = `${path}:${before}`
        const found = await findSandbox(join(folder, 'ws'))
        expect('missing' in found ? [] : Object.values(found.tools).filter((tool) => tool.startsWith(folder))).toEqual(
          [],
        )
      }
      expect(existsSync(join(folder, 'started'))).toBe(false)
    } finally {
      process.env['PATH'] = before
    }
  })
})
