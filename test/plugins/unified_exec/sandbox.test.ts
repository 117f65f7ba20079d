import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { bootKernel, type Boot, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { call, error, eventually, lacks, nap, output, processesWith } from '../../support/exec.js'

const none = lacks('bwrap')
const boxed = ({ config, ...how }: Boot = {}): Promise<Booted> => bootKernel({ ...how, config: { sandbox: { mode: 'required' }, ...config } })

describe.skipIf(none)(`in the sandbox${none ? ' (SKIPPED: needs bwrap)' : ''}`, () => {
  let booted: Booted
  beforeEach(async () => {
    booted = await boxed()
  })
  afterEach(() => booted[Symbol.asyncDispose]())
  const run = (input: object) => output(booted, { action: 'run', ...input })

  it('a command works in the workspace as it does outside', async () => {
    expect(await run({ command: 'echo hi > new.txt; cat new.txt; exit 3', response_format: 'detailed' })).toMatchObject({ stdout: 'hi\n', exit_code: 3, sandbox: 'bwrap' })
    expect(await booted.read('new.txt')).toBe('hi\n')
    expect(await run({ command: 'test -t 1 && stty size', tty: true, rows: 20, cols: 60 })).toMatchObject({ output: '20 60\r\n' })
    mkdirSync(join(booted.root, 'sub'))
    expect((await run({ command: ['pwd'], workdir: 'sub' })).stdout).toBe(`${booted.root}/sub\n`)
    expect(await run({ command: 'cat', input: 'in' })).toMatchObject({ stdout: 'in' })
  })

  it('nothing outside the workspace is written, whatever is tried', async () => {
    const tries = [
      `touch ${booted.home}/x`,
      'touch /usr/x',
      'mount -o remount,rw,bind /; touch /usr/x',
      'mount -t tmpfs none /mnt',
      'unshare -Ur mount -o remount,rw,bind /',
      `echo x > /proc/1/root${booted.home}/x`,
      `ln -s ${booted.home} out; touch out/x`,
      'chroot /proc/1/root touch /usr/x',
      'mknod dev b 8 0',
    ]
    for (const command of tries) expect((await run({ command })).exit_code, command).not.toBe(0)
    expect(existsSync(join(booted.home, 'x')) || existsSync('/usr/x')).toBe(false)
  })

  it('git hooks, git settings and our own folder are not written', async () => {
    mkdirSync(join(booted.root, '.git/hooks'), { recursive: true })
    mkdirSync(join(booted.root, '.vtcode'), { recursive: true })
    writeFileSync(join(booted.root, '.git/config'), '')
    for (const path of ['.git/hooks/pre-commit', '.git/config', '.vtcode/config.yaml']) {
      expect((await run({ command: `echo x > ${path}` })).exit_code, path).not.toBe(0)
      expect((await run({ command: `rm -rf ${path.split('/').slice(0, -1).join('/')} 2>/dev/null; echo x > ${path}` })).exit_code, path).not.toBe(0)
    }
    const replaced = 'mv .git aside && mkdir .git && cp -r aside/. .git && echo x > .git/config'
    expect((await run({ command: replaced })).exit_code).not.toBe(0)
    expect(await booted.read('.git/config')).toBe('')
    expect((await run({ command: 'echo x > .git/other' })).exit_code).toBe(0)
  })

  it('a worktree of git is worked in, and the file that says what steers it is not written', async () => {
    await booted.write('.git', 'gitdir: /elsewhere\n')
    expect(await run({ command: 'echo hi > new.txt && cat new.txt' })).toMatchObject({ stdout: 'hi\n', exit_code: 0 })
    for (const command of ['echo x > .git', 'rm -f .git; mkdir .git', 'mv .git aside']) expect((await run({ command })).exit_code, command).not.toBe(0)
    expect(await booted.read('.git')).toBe('gitdir: /elsewhere\n')
  })

  it.each([['.git'], ['.git/hooks'], ['held']])('no command starts where %s is a link, which could be put up anew', async (name) => {
    await using held = await boxed({ config: { sandbox: { mode: 'required', deny_write: ['held'] } }, files: { 'elsewhere/config': '', '.git/HEAD': '' } })
    if (name === '.git') rmSync(join(held.root, name), { recursive: true })
    symlinkSync(join(held.root, 'elsewhere'), join(held.root, name))
    const refused = await error(held, { action: 'run', command: `rm ${name}; mkdir ${name}` })
    expect(refused).toMatchObject({ code: 'VT_EXEC_SANDBOX', message: expect.stringContaining(`'${name}'`), hint: expect.stringContaining('require_escalated') })
    expect(lstatSync(join(held.root, name)).isSymbolicLink()).toBe(true)
  })

  it('git does its work: its own folder is one that cannot be moved', async () => {
    const steps = ['git init -q', 'git config user.name a', 'git config user.email a@b.c']
    for (const step of steps) spawnSync('sh', ['-c', step], { cwd: booted.root })
    const work = 'echo 1 > a && git add a && git commit -qm one && git checkout -qb other && echo 2 > a && git commit -qam two && git checkout -q - && git merge -q other && git stash -q || true; git gc -q && git log --oneline | wc -l'
    expect(await run({ command: work })).toMatchObject({ stdout: '2\n', exit_code: 0 })
  })

  it('the network is off unless the settings turn it on', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const command = `exec 3<>/dev/tcp/127.0.0.1/${(server.address() as AddressInfo).port} && cat <&3`
    try {
      expect((await run({ command })).exit_code).not.toBe(0)
      expect((await call(booted, { action: 'run', command: 'exit 7' }) as { text: string }).text).toMatch(/^exit 7 in .* \(in the sandbox, without network\)$/)
      await using open = await boxed({ config: { sandbox: { mode: 'required', network: true } } })
      expect(await output(open, { command })).toMatchObject({ stdout: 'hello', exit_code: 0 })
    } finally {
      server.close()
    }
  })

  it('folders of secrets and what the settings name are empty', async () => {
    const secret = join(booted.home, 'secret')
    mkdirSync(secret)
    writeFileSync(join(secret, 'key'), 'sk')
    await using masked = await boxed({ config: { sandbox: { mode: 'required', deny_read: [secret] } } })
    expect((await output(masked, { command: `ls ${secret}` })).stdout).toBe('')
  })

  it('plan mode reads only', async () => {
    await using plan = await boxed({ mode: 'plan', files: { a: 'text' } })
    expect(await output(plan, { command: 'cat a', response_format: 'detailed' })).toMatchObject({ stdout: 'text', sandbox: 'bwrap' })
  })

  it('nothing outlives a command, a limit, a close: not setsid, not a daemon', async () => {
    const [one, two, three, four] = [nap(), nap(), nap(), nap()]
    const daemon = (command: string): string => `setsid ${command} >/dev/null 2>&1 & (setsid sh -c '${command} & disown' >/dev/null 2>&1 &)`
    await run({ command: `${daemon(one)}; echo` })
    expect(await run({ command: `${daemon(two)}; sleep 60`, timeout_secs: 1 })).toMatchObject({ timed_out: true })
    await run({ command: `${daemon(three)}; sleep 60`, session_id: 's', yield_time_ms: 500 })
    expect(processesWith(three.replace(' ', '\0')).length).toBeGreaterThan(0)
    expect(await output(booted, { action: 'close', session_id: 's' })).toMatchObject({ running: false })
    await run({ command: `${daemon(four)}; sleep 60`, background: true })
    await booted.kernel.endSession('main')
    for (const each of [one, two, three, four]) expect(await eventually(() => processesWith(each.replace(' ', '\0')).length === 0, 2000), each).toBe(true)
  })

  it('signals reach the command and not the sandbox around it', async () => {
    await run({ command: ['bash', '-c', 'trap "echo got it" INT; while :; do sleep 0.05; done'], session_id: 's', tty: true, yield_time_ms: 500 })
    expect(await output(booted, { action: 'write', session_id: 's', keys: ['ctrl-c'], yield_time_ms: 1000 })).toMatchObject({ running: true, output: expect.stringContaining('got it') })
    expect(await output(booted, { action: 'close', session_id: 's' })).toMatchObject({ running: false, signal: 'SIGTERM' })
    await run({ command: 'trap "echo bye; exit 4" TERM; echo up; while :; do sleep 0.05; done', session_id: 't', yield_time_ms: 500 })
    expect(await output(booted, { action: 'close', session_id: 't' })).toMatchObject({ stdout: 'bye\n', exit_code: 4 })
  })
})

describe('without a sandbox', () => {
  it('a command that has to be in one is not run', async () => {
    await using booted = await boxed()
    const path = process.env.PATH
    process.env.PATH = '/nonexistent'
    try {
      expect(await error(booted, { command: ['/bin/touch', 'made'] })).toMatchObject({ code: 'VT_EXEC_SANDBOX', message: expect.stringContaining('bwrap') })
    } finally {
      process.env.PATH = path
    }
    expect(await booted.read('made')).toBe(undefined)
  })

  it.skipIf(none)('and without terminals, one is refused by name', () => {
    const script = `import { bootKernel } from 'vtcode/test'
      const booted = await bootKernel({ config: { sandbox: { mode: 'off' } } })
      console.log(JSON.stringify([await booted.call('unified_exec', { command: ['true'], tty: true }), await booted.call('unified_exec', { command: ['true'] })]))
      await booted[Symbol.asyncDispose]()`
    const bare = ['--bind', '/', '/', '--tmpfs', '/dev', '--dev-bind', '/dev/null', '/dev/null', '--dev-bind', '/dev/urandom', '/dev/urandom']
    const { stdout, stderr } = spawnSync('bwrap', [...bare, process.execPath, '--input-type=module', '-e', script], { encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject([{ ok: false, error: { code: 'VT_EXEC_PTY' } }, { ok: true, output: { exit_code: 0 } }])
  })
})
