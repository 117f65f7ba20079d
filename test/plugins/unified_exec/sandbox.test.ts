import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { bootKernel, type Boot, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { call, error, eventually, lacks, nap, output, processesWith, readOn } from '../../support/exec.js'

const none = lacks('bwrap')
/** Only a control group limits the number of processes of root. */
const uncounted =
  process.getuid?.() === 0 && !existsSync('/sys/fs/cgroup/pids') && !existsSync('/sys/fs/cgroup/cgroup.controllers')
/** Makes a command whose text no policy reads, so that only the sandbox limits it. */
async function unread(booted: Booted, command: string): Promise<object> {
  await booted.write('unread.sh', command)
  return { action: 'run', command: ['bash', 'unread.sh'] }
}
const boxed = ({ config, ...how }: Boot = {}): Promise<Booted> =>
  bootKernel({ ...how, config: { sandbox: { mode: 'required' }, ...config } })

describe.skipIf(none)(`unified_exec sandbox${none ? ' (SKIPPED: needs bwrap)' : ''}`, () => {
  let booted: Booted
  beforeEach(async () => {
    booted = await boxed()
  })
  afterEach(() => booted[Symbol.asyncDispose]())
  const run = (input: object) => output(booted, { action: 'run', ...input })
  const runUnread = async (command: string) => output(booted, await unread(booted, command))

  it('runs a command in the workspace with the same result as outside of the sandbox', async () => {
    expect(await run({ command: 'echo hi > new.txt; cat new.txt; exit 3', response_format: 'detailed' })).toMatchObject(
      { stdout: 'hi\n', exit_code: 3, sandbox: 'bwrap' },
    )
    expect(await booted.read('new.txt')).toBe('hi\n')
    expect(await run({ command: 'test -t 1 && stty size', tty: true, rows: 20, cols: 60 })).toMatchObject({
      output: '20 60\r\n',
    })
    mkdirSync(join(booted.root, 'sub'))
    expect((await run({ command: ['pwd'], workdir: 'sub' })).stdout).toBe(`${booted.root}/sub\n`)
    expect(await run({ command: 'cat', input: 'in' })).toMatchObject({ stdout: 'in' })
  })

  it('writes nothing outside the workspace, by any path', async () => {
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

  it('refuses writes to git hooks, git settings and .vtcode', async () => {
    mkdirSync(join(booted.root, '.git/hooks'), { recursive: true })
    mkdirSync(join(booted.root, '.vtcode'), { recursive: true })
    writeFileSync(join(booted.root, '.git/config'), '')
    for (const path of ['.git/hooks/pre-commit', '.git/config', '.vtcode/config.yaml']) {
      expect((await runUnread(`echo x > ${path}`)).exit_code, path).not.toBe(0)
      expect(
        (await runUnread(`rm -rf ${path.split('/').slice(0, -1).join('/')} 2>/dev/null; echo x > ${path}`)).exit_code,
        path,
      ).not.toBe(0)
    }
    const replaced = 'mv .git aside && mkdir .git && cp -r aside/. .git && echo x > .git/config'
    expect((await runUnread(replaced)).exit_code).not.toBe(0)
    expect(await booted.read('.git/config')).toBe('')
    expect((await runUnread('echo x > .git/other')).exit_code).toBe(0)
  })

  it('works in a git worktree and refuses writes to its .git file', async () => {
    await booted.write('.git', 'gitdir: /elsewhere\n')
    expect(await run({ command: 'echo hi > new.txt && cat new.txt' })).toMatchObject({ stdout: 'hi\n', exit_code: 0 })
    for (const command of ['echo x > .git', 'rm -f .git; mkdir .git', 'mv .git aside'])
      expect((await runUnread(command)).exit_code, command).not.toBe(0)
    expect(await booted.read('.git')).toBe('gitdir: /elsewhere\n')
  })

  it.each([['.git'], ['.git/hooks'], ['held']])(
    'refuses to start a command where %s is a link that the command could replace',
    async (name) => {
      await using held = await boxed({
        config: { sandbox: { mode: 'required', deny_write: ['held'] } },
        files: { 'elsewhere/config': '', '.git/HEAD': '' },
      })
      if (name === '.git') rmSync(join(held.root, name), { recursive: true })
      symlinkSync(join(held.root, 'elsewhere'), join(held.root, name))
      const refused = await error(held, await unread(held, `rm ${name}; mkdir ${name}`))
      expect(refused).toMatchObject({
        code: 'VT_EXEC_SANDBOX',
        message: expect.stringContaining(`'${name}'`),
        hint: expect.stringContaining('require_escalated'),
      })
      expect(lstatSync(join(held.root, name)).isSymbolicLink()).toBe(true)
    },
  )

  it('creates nothing through a link in the place of .vtcode when it refuses a command', async () => {
    await using held = await boxed()
    const outside = join(held.home, 'elsewhere')
    mkdirSync(outside)
    rmSync(join(held.root, '.vtcode'), { recursive: true, force: true })
    symlinkSync(outside, join(held.root, '.vtcode'))
    expect(await error(held, { action: 'run', command: 'true' })).toMatchObject({
      code: 'VT_EXEC_SANDBOX',
      message: expect.stringContaining("'.vtcode'"),
    })
    expect(readdirSync(outside)).toEqual([])
  })

  it('runs commit, checkout, merge and stash of git with a .git folder that cannot be moved', async () => {
    const steps = ['git init -q', 'git config user.name a', 'git config user.email a@b.c']
    for (const step of steps) spawnSync('sh', ['-c', step], { cwd: booted.root })
    const work =
      'echo 1 > a && git add a && git commit -qm one && git checkout -qb other && echo 2 > a && git commit -qam two && git checkout -q - && git merge -q other && git stash -q || true; git gc -q && git log --oneline | wc -l'
    expect(await run({ command: work })).toMatchObject({ stdout: '2\n', exit_code: 0 })
  })

  it('passes the user name of the git settings to a commit, without their logins and programs', async () => {
    const named = '[user]\n name = A \\"B\\" $(id) \\\\ C\n email = a@example.org\n'
    const given = `${named}[credential]\n helper = store\n[http]\n extraHeader = hidden-token\n[commit]\n gpgSign = false\n`
    const before = process.env.HOME
    const kept = existsSync(join(before!, '.gitconfig')) ? readFileSync(join(before!, '.gitconfig'), 'utf8') : undefined
    writeFileSync(join(before!, '.gitconfig'), given)
    try {
      const command = 'git init -q . && git commit -q --allow-empty -m one && git log -1 --format="%an <%ae>"'
      expect(await run({ command })).toMatchObject({ stdout: 'A "B" $(id) \\ C <a@example.org>\n' })
      const { stdout } = await run({ command: 'git config --global --list' })
      expect(stdout).toContain('user.email=a@example.org')
      expect(stdout).not.toMatch(/hidden-token|credential/)
      expect(
        await run({ command: 'git config --global user.name Other && git config --global user.name' }),
      ).toMatchObject({ stdout: 'Other\n' })
      expect(readFileSync(join(before!, '.gitconfig'), 'utf8')).toBe(given)
    } finally {
      if (kept === undefined) rmSync(join(before!, '.gitconfig'))
      else writeFileSync(join(before!, '.gitconfig'), kept)
    }
  })

  it('blocks the network unless the settings allow it', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const command = `exec 3<>/dev/tcp/127.0.0.1/${(server.address() as AddressInfo).port} && cat <&3`
    try {
      expect((await run({ command })).exit_code).not.toBe(0)
      expect(((await call(booted, { action: 'run', command: 'exit 7' })) as { text: string }).text).toMatch(
        /^exit 7 in .* \(in the sandbox, without network\)$/,
      )
      await using open = await boxed({ config: { sandbox: { mode: 'required', network: true } } })
      expect(await output(open, { command })).toMatchObject({ stdout: 'hello', exit_code: 0 })
    } finally {
      server.close()
    }
  })

  it('shows folders of secrets and denied paths of the settings as empty', async () => {
    const secret = join(booted.home, 'secret')
    mkdirSync(secret)
    writeFileSync(join(secret, 'key'), 'sk')
    await using masked = await boxed({ config: { sandbox: { mode: 'required', deny_read: [secret] } } })
    expect((await output(masked, { command: `ls ${secret}` })).stdout).toBe('')
  })

  it('hides paths that the settings deny below the workspace, under another folder name too', async () => {
    await using denied = await boxed({
      config: { sandbox: { mode: 'required', deny_read: ['inner/keys', 'single'] } },
      files: { 'inner/keys/a': 'sk-1', single: 'sk-2', open: 'text' },
    })
    const told = await output(denied, {
      command:
        'cat open inner/keys/a single; mv inner other; cat other/keys/a; ln single more; cat more; ls -A inner/keys',
    })
    expect(told.stdout).toBe('text')
    expect(await denied.read('inner/keys/a')).toBe('sk-1')
  })

  it('hides the home, /run and /var with their logins and sockets', async () => {
    for (const login of [
      '.codex/auth.json',
      '.claude/.credentials.json',
      '.gemini/oauth_creds.json',
      '.config/opencode/auth.json',
      '.local/share/opencode/auth.json',
      '.config/github-copilot/apps.json',
      '.copilot/config.json',
      '.cargo/credentials.toml',
      '.vault-token',
      '.config/rclone/rclone.conf',
      '.pgpass',
      'notes.txt',
    ]) {
      mkdirSync(join(booted.home, login, '..'), { recursive: true })
      writeFileSync(join(booted.home, login), 'sk-login')
    }
    expect(
      (
        await run({
          command: `grep -r sk-login ${booted.home} ~ 2>/dev/null; find ${booted.home} /run /var /srv /mnt /media -type f -o -type s 2>/dev/null`,
        })
      ).stdout,
    ).toBe('')
    const path = `/var/tmp/vtcode-test-${process.pid}.sock`
    const server = createServer((socket) => socket.end('reached')).listen(path)
    await new Promise((resolve) => server.once('listening', resolve))
    const connect = (to: string) => ({
      command: [
        'python3',
        '-c',
        `import socket; s = socket.socket(socket.AF_UNIX); s.connect('${to}'); print(s.recv(9).decode())`,
      ],
    })
    try {
      expect((await run(connect(path))).stderr).toContain('FileNotFoundError')
      await using named = await boxed({ config: { sandbox: { mode: 'required', readable: [path] } } })
      expect((await output(named, connect(path))).stdout).toBe('reached\n')
    } finally {
      server.close()
    }
  })

  it.skipIf(uncounted)('limits the memory of processes and their number as the system counts it', async () => {
    // The system counts threads like processes, and a thread costs a fraction of a process.
    const script = `import _thread, os, resource, threading, time
print(resource.getrlimit(resource.RLIMIT_NPROC)[1])
threading.stack_size(65536)
count = 0
try:
    while count < 2200:
        _thread.start_new_thread(time.sleep, (60,))
        count += 1
except RuntimeError:
    pass
print(count)
try:
    os.fork()
    print('forked')
except OSError:
    print('no process more')
os.kill(0, 9)`
    await booted.write('forks.py', script)
    const { stdout, signal } = await run({ command: ['python3', '-u', 'forks.py'] })
    const [limit, count, fork] = stdout.trim().split('\n')
    expect({ limit, signal, fork }).toEqual({ limit: '1024', signal: 'SIGKILL', fork: 'no process more' })
    expect(Number(count)).toBeLessThan(2100)
    expect(Number(count)).toBeGreaterThan(100)
  })

  it('blocks a socket of the machine that lies in the workspace', async () => {
    const path = join(booted.root, 'engine.sock')
    const server = createServer((socket) => socket.end('reached')).listen(path)
    await new Promise((resolve) => server.once('listening', resolve))
    const connect = {
      command: [
        'python3',
        '-c',
        `import socket; s = socket.socket(socket.AF_UNIX); s.connect('engine.sock'); print(s.recv(9).decode())`,
      ],
    }
    try {
      expect((await run(connect)).stdout).toBe('')
    } finally {
      server.close()
    }
  })

  it('opens no kernel setting for writing and limits the size of files in memory', async () => {
    const tries = [
      '/proc/sys/kernel/core_pattern',
      '/proc/sys/vm/drop_caches',
      '/proc/sysrq-trigger',
      '/proc/irq/default_smp_affinity',
      '/vtcode-test',
      '/dev/vtcode-test',
      '/usr/vtcode-test',
    ]
    expect(
      (
        await run({
          command: `for path in ${tries.join(' ')}; do { : >>$path; } 2>/dev/null && echo $path; done; ls -A /sys`,
        })
      ).stdout,
    ).toBe('')
    expect(
      await run({ command: ['dd', 'if=/dev/zero', 'of=large', 'bs=1', 'count=1', 'seek=1073741825'] }),
    ).toMatchObject({ exit_code: null, signal: 'SIGXFSZ' })
    expect((await run({ command: 'dd if=/dev/zero of=/tmp/large bs=1M count=300 2>&1' })).stdout).toContain(
      'No space left',
    )
  })

  it('creates .vtcode before the first command, which cannot replace it', async () => {
    expect(
      (await runUnread('mkdir .vtcode; echo {} > .vtcode/tool-policy.json || mv .vtcode aside')).exit_code,
    ).not.toBe(0)
    expect(await booted.read('.vtcode/tool-policy.json')).toBe(undefined)
  })

  it('protects the keys and shell start files of a home that is the workspace', async () => {
    const before = process.env.HOME
    await booted.write('.ssh/id', 'sk-key')
    await booted.write('.bashrc', 'old')
    process.env.HOME = booted.root
    try {
      const told = await runUnread(
        'cat .ssh/id ~/.ssh/id; echo x > .ssh/authorized_keys; mv .ssh other; cat other/id; echo x >> .bashrc; mv .bashrc .old; echo done > made',
      )
      expect(told.stdout).toBe('')
    } finally {
      process.env.HOME = before
    }
    expect([
      await booted.read('.ssh/id'),
      await booted.read('.ssh/authorized_keys'),
      await booted.read('.bashrc'),
      await booted.read('made'),
    ]).toEqual(['sk-key', undefined, 'old', 'done\n'])
  })

  it('commits in a worktree of a repository outside the workspace and hides one that a planted .git file names', async () => {
    const git = (script: string) => spawnSync('sh', ['-c', script], { cwd: booted.root, encoding: 'utf8' })
    const other = join(booted.root, '../other')
    expect(
      git(
        `git init -q ${other} && cd ${other} && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git worktree add -q ${booted.root}/tree`,
      ),
    ).toMatchObject({ status: 0 })
    await using own = await boxed()
    // The workspace folder is emptied, not replaced.
    expect(
      git(`rm -rf ${own.root}/* ${own.root}/.[!.]*; cd ${other} && git worktree add -q ${own.root}`).stderr,
    ).not.toContain('fatal')
    const work = 'touch a && git add a && git -c user.name=a -c user.email=b commit -qm two && git log --format=%s'
    expect(await output(own, { command: work })).toMatchObject({ stdout: 'two\none\n', exit_code: 0 })
    expect(
      (
        await output(
          own,
          await unread(own, 'git config a.b c; touch $(git rev-parse --git-common-dir)/hooks/pre-commit'),
        )
      ).exit_code,
    ).not.toBe(0)
    await using planted = await boxed({ files: { 'sub/a': '' } })
    await planted.write('sub/.git', `gitdir: ${other}/.git\n`)
    expect((await output(planted, { command: `git -C sub log; ls ${other}/.git/config` })).stdout).toBe('')
  })

  it('reports the signal that ended a command, and an exit code of the same number as a code', async () => {
    for (const tty of [false, true]) {
      expect(await run({ command: ['sh', '-c', 'kill -9 $$'], tty })).toMatchObject({
        exit_code: null,
        signal: 'SIGKILL',
      })
      expect(await run({ command: ['sh', '-c', 'kill -INT $$'], tty })).toMatchObject({
        exit_code: null,
        signal: 'SIGINT',
      })
      expect(await run({ command: ['sh', '-c', 'exit 137'], tty })).toMatchObject({ exit_code: 137, signal: null })
    }
  })

  it('ends leftover processes and holders of the output and reports them', async () => {
    const result = await call(booted, {
      action: 'run',
      command: 'sleep 60 & (while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo up',
    })
    expect(result).toMatchObject({
      ok: true,
      output: { stdout: 'up\nlate\n', exit_code: 0 },
      notices: [{ code: 'VT_EXEC_CHILDREN_ENDED', message: expect.stringContaining('nothing outlives') }],
    })
    expect(await call(booted, { action: 'run', command: 'true & echo up' })).not.toHaveProperty('notices')
  })

  it('runs a reading command in plan mode', async () => {
    await using plan = await boxed({ mode: 'plan', files: { a: 'text' } })
    expect(await output(plan, { command: 'cat a', response_format: 'detailed' })).toMatchObject({
      stdout: 'text',
      sandbox: 'bwrap',
    })
  })

  it('ends everything at the end of a command, at a limit and on close, including setsid and daemons', async () => {
    const [one, two, three, four] = [nap(), nap(), nap(), nap()]
    const daemon = (command: string): string =>
      `setsid ${command} >/dev/null 2>&1 & (setsid sh -c '${command} & disown' >/dev/null 2>&1 &)`
    await run({ command: `${daemon(one)}; echo` })
    expect(await run({ command: `${daemon(two)}; sleep 60`, timeout_secs: 1 })).toMatchObject({ timed_out: true })
    await run({ command: `${daemon(three)}; sleep 60`, session_id: 's', yield_time_ms: 500 })
    expect(await eventually(() => processesWith(three.replace(' ', '\0')).length > 0)).toBe(true)
    expect(await output(booted, { action: 'close', session_id: 's' })).toMatchObject({ running: false })
    await run({ command: `${daemon(four)}; sleep 60`, background: true })
    await booted.kernel.endSession('main')
    for (const each of [one, two, three, four])
      expect(await eventually(() => processesWith(each.replace(' ', '\0')).length === 0), each).toBe(true)
  })

  it('passes signals to the command and not to the sandbox around it', async () => {
    await readOn(
      booted,
      await run({
        command: ['bash', '-c', 'trap "echo got it" INT; echo up; while :; do sleep 0.05; done'],
        session_id: 's',
        tty: true,
        yield_time_ms: 250,
      }),
      'up',
    )
    expect(
      await readOn(
        booted,
        await output(booted, { action: 'write', session_id: 's', keys: ['ctrl-c'], yield_time_ms: 30_000 }),
        'got it',
      ),
    ).toMatchObject({ running: true, text: expect.stringContaining('got it') })
    expect(await output(booted, { action: 'close', session_id: 's', grace_ms: 10_000 })).toMatchObject({
      running: false,
      signal: 'SIGTERM',
    })
    await readOn(
      booted,
      await run({
        command: 'trap "echo bye; exit 4" TERM; echo up; while :; do sleep 0.05; done',
        session_id: 't',
        yield_time_ms: 250,
      }),
      'up',
    )
    expect(await output(booted, { action: 'close', session_id: 't', grace_ms: 10_000 })).toMatchObject({
      stdout: 'bye\n',
      exit_code: 4,
    })
  })
})

describe('unified_exec without a sandbox', () => {
  it('refuses a command that requires the sandbox where bwrap is missing', async () => {
    await using booted = await boxed()
    const path = process.env.PATH
    process.env.PATH = '/nonexistent'
    try {
      expect(await error(booted, { command: ['/bin/touch', 'made'] })).toMatchObject({
        code: 'VT_EXEC_SANDBOX',
        message: expect.stringContaining('bwrap'),
      })
    } finally {
      process.env.PATH = path
    }
    expect(await booted.read('made')).toBe(undefined)
  })

  it.skipIf(none)('refuses a terminal session with the reason on a machine without terminals', () => {
    const script = `import { bootKernel } from 'vtcode/test'
      const booted = await bootKernel({ config: { sandbox: { mode: 'off' } } })
      console.log(JSON.stringify([await booted.call('unified_exec', { command: ['true'], tty: true }), await booted.call('unified_exec', { command: ['true'] })]))
      await booted[Symbol.asyncDispose]()`
    // Temporary files may lie below /dev.
    const bare = [
      '--bind',
      '/',
      '/',
      '--tmpfs',
      '/dev',
      '--dev-bind',
      '/dev/null',
      '/dev/null',
      '--dev-bind',
      '/dev/urandom',
      '/dev/urandom',
    ]
    const { stdout, stderr } = spawnSync('bwrap', [...bare, process.execPath, '--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: inject('disk') },
    })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject([
      { ok: false, error: { code: 'VT_EXEC_PTY' } },
      { ok: true, output: { exit_code: 0 } },
    ])
  })
})
