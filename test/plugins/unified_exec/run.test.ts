import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootExec, call, error, eventually, nap, output, processesWith, rounds } from '../../support/exec.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec()
})
afterEach(() => booted[Symbol.asyncDispose]())
const run = (input: object) => output(booted, { action: 'run', ...input })

describe('unified_exec/run: command', () => {
  it('passes a string command to a shell and an array to no shell', async () => {
    expect(await run({ command: 'echo $((1+1)) | tr 2 3' })).toMatchObject({ stdout: '3\n', exit_code: 0 })
    expect(await run({ command: ['echo', '$((1+1)) | tr 2 3'] })).toMatchObject({ stdout: '$((1+1)) | tr 2 3\n' })
    expect(await run({ command: 'echo', args: ['a b', '*'] })).toMatchObject({
      stdout: 'a b *\n',
      command: ['echo', 'a b', '*'],
    })
    expect(await run({ command: 'false', args: [] })).toMatchObject({ exit_code: 1, command: ['false'] })
  })

  it('reports how a command ended', async () => {
    expect(await run({ command: 'exit 7' })).toMatchObject({ exit_code: 7, signal: null, timed_out: false })
    expect(await run({ command: 'kill -KILL $$' })).toMatchObject({ exit_code: null, signal: 'SIGKILL' })
    expect(await run({ command: 'nosuchprogram' })).toMatchObject({ exit_code: 127 })
    writeFileSync(join(booted.root, 'plain'), 'x')
    expect(await run({ command: './plain' })).toMatchObject({ exit_code: 126 })
  })

  it('renders a command for a model with its streams and one status line', async () => {
    const text = async (input: object) => ((await call(booted, { action: 'run', ...input })) as { text: string }).text
    expect(await text({ command: 'printf a; printf b >&2' })).toMatch(/^a\n\[stderr\]\nb\nexit 0 in \d+\.\d s$/)
    expect(await text({ command: 'kill -TERM $$' })).toMatch(/^killed by SIGTERM after \d+\.\d s$/)
    expect(await text({ command: 'sleep 9', timeout_secs: 1 })).toBe('timed out after 1 s')
    expect(await text({ command: 'sleep 9', yield_time_ms: 250, session_id: 'x' })).toBe('running, session x')
    expect(await text({ command: 'nosuch' })).toMatch(/: program not found in PATH$/)
  })

  it('reports a command that cannot start as a typed error', async () => {
    expect(await error(booted, { command: ['/nope/x'] })).toMatchObject({ code: 'VT_EXEC_NOT_FOUND' })
    expect(await error(booted, { command: ['./plain'] })).toMatchObject({ code: 'VT_EXEC_NOT_FOUND' })
    writeFileSync(join(booted.root, 'orphan'), '#!/no/such/interpreter\n', { mode: 0o755 })
    expect(await error(booted, { command: ['./orphan'] })).toMatchObject({ code: 'VT_EXEC_NOT_FOUND' })
    writeFileSync(join(booted.root, 'odd'), '#!/etc/passwd/interpreter\n', { mode: 0o755 })
    expect(await error(booted, { command: ['./odd'] })).toMatchObject({
      code: 'VT_FILE_IO',
      message: expect.stringContaining("'./odd': the system refuses it (ENOTDIR)"),
      retryable: false,
    })
    expect(await error(booted, { command: ['echo', 'x'.repeat(3_000_000)] })).toMatchObject({
      code: 'VT_INPUT_TOO_LARGE',
    })
    expect(await error(booted, { command: 'x'.repeat(1_000_000) })).toMatchObject({ code: 'VT_INPUT_TOO_LARGE' })
    expect(await error(booted, { command: `: ${'x'.repeat(131_070)}` })).toMatchObject({ code: 'VT_INPUT_TOO_LARGE' })
    expect(await error(booted, { command: 'echo a\0b' })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    expect(await error(booted, { command: 'echo \ud800' })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    expect(await error(booted, { command: '  ' })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    expect(await error(booted, { command: 'true', sandbox_permissions: 'require_escalated' })).toMatchObject({
      code: 'VT_INPUT_MISSING',
    })
    expect(await run({ command: 'echo still here' })).toMatchObject({ exit_code: 0 })
  })

  it('runs a command in a directory of the workspace and nowhere else', async () => {
    mkdirSync(join(booted.root, 'sub'))
    symlinkSync('/etc', join(booted.root, 'out'))
    expect((await run({ command: 'pwd', workdir: 'sub' })).stdout).toBe(`${booted.root}/sub\n`)
    expect((await run({ command: ['pwd'], workdir: 'sub', tty: true })).output).toBe(`${booted.root}/sub\r\n`)
    expect(await error(booted, { command: 'pwd', workdir: 'out' })).toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    expect(await error(booted, { command: 'pwd', workdir: '..' })).toMatchObject({ code: 'VT_PATH_OUTSIDE' })
    expect(await error(booted, { command: 'pwd', workdir: 'none' })).toMatchObject({ code: 'VT_PATH_NOT_FOUND' })
    expect(await run({ command: 'cd .. && rmdir sub && pwd; echo done', workdir: 'sub' })).toMatchObject({
      exit_code: 0,
    })
  })

  it('passes the given input and its end, or empty input', async () => {
    expect(await run({ command: 'cat', input: 'äöü\nno newline' })).toMatchObject({ stdout: 'äöü\nno newline' })
    expect(await run({ command: 'cat; echo end', timeout_secs: 5 })).toMatchObject({
      stdout: 'end\n',
      timed_out: false,
    })
    expect(await run({ command: 'true', input: 'x'.repeat(1_000_000) })).toMatchObject({ exit_code: 0 })
  })
})

describe('unified_exec/run: environment', () => {
  const secrets = {
    VTTEST_API_KEY: 'k',
    GITHUB_TOKEN: 't',
    AWS_SECRET_ACCESS_KEY: 'a',
    NODE_OPTIONS: '--no-warnings',
    LD_PRELOAD_X: 'x',
    BASH_ENV: '/dev/null',
    GIT_DIR: '/nope',
    npm_config_registry: 'r',
    HARMLESS_NAME: 'h',
    PYTHONPATH: 'p',
  }
  it('passes an allow-list of environment variables, whatever the parent has', async () => {
    Object.assign(process.env, secrets)
    try {
      const names = (await run({ command: ['env'] })).stdout
        .split('\n')
        .filter(Boolean)
        .map((line: string) => line.split('=')[0])
      const allowed =
        /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TERM|COLORTERM|CI|EDITOR|PAGER|GIT_PAGER|GIT_TERMINAL_PROMPT|NO_COLOR|VTCODE|VTCODE_RUN|SHLVL)$/
      expect(names.filter((name: string) => !allowed.test(name))).toEqual([])
      expect(
        (await run({ command: 'echo "$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $VTCODE $NO_COLOR $TERM"' })).stdout,
      ).toBe('cat cat 0 1 1 dumb\n')
      expect((await run({ command: 'echo "$TERM${NO_COLOR-}"', tty: true })).output).toBe('xterm-256color\r\n')
    } finally {
      for (const name of Object.keys(secrets)) delete process.env[name]
    }
  })

  it('accepts variables of the call except those that change what runs', async () => {
    expect((await run({ command: 'echo $FOO', env: { FOO: 'a b' } })).stdout).toBe('a b\n')
    for (const name of [
      'LD_PRELOAD',
      'DYLD_X',
      'NODE_OPTIONS',
      'BASH_ENV',
      'PATH',
      'GIT_SSH_COMMAND',
      'VTCODE',
      'A=B',
      '',
    ]) {
      expect(await error(booted, { command: 'true', env: { [name]: 'x' } }), name).toMatchObject({
        code: 'VT_INPUT_INVALID',
      })
    }
    expect(await error(booted, { command: 'true', env: { A: 'x\0' } })).toMatchObject({ code: 'VT_INPUT_INVALID' })
  })

  it('accepts variables of the settings', async () => {
    await using own = await bootExec({ config: { exec: { env: { FROM_SETTINGS: 'yes', HOME: '/nowhere' } } } })
    expect((await output(own, { command: 'echo $FROM_SETTINGS $HOME' })).stdout).toBe('yes /nowhere\n')
  })

  it('reads variables of the settings from their sources and redacts the secret ones', async () => {
    const file = join(booted.root, 'value')
    writeFileSync(file, 'from-a-file\n', { mode: 0o600 })
    const env = { A: { env: 'VTTEST_SOURCE' }, B: { file }, C: { command: ['echo', 'from-a-program'] }, D: 'text' }
    await using own = await bootExec({ config: { exec: { env } }, env: { VTTEST_SOURCE: 'from-the-environment' } })
    const answer = await output(own, { command: 'echo $A ${#B} ${#C} $D; echo $B $C' })
    expect(answer.stdout).toMatch(/^from-the-environment 11 14 text\n/)
    expect(answer.stdout).not.toMatch(/from-a-file|from-a-program/)
    await using lacking = await bootExec({ config: { exec: { env: { A: { env: 'VTTEST_NOT_SET' } } } } })
    expect(await error(lacking, { command: 'true' })).toMatchObject({
      code: 'VT_SECRET_MISSING',
      message: expect.stringContaining('VTTEST_NOT_SET'),
    })
  })

  it('keeps bash from reading its start files when input is a pipe', async () => {
    writeFileSync(join(booted.root, '.bashrc'), 'echo sourced')
    await using own = await bootExec({ config: { exec: { env: { HOME: booted.root } } } })
    expect((await output(own, { command: 'cat', input: 'x' })).stdout).toBe('x')
  })

  it('finds no program of the workspace by a bare name', async () => {
    mkdirSync(join(booted.root, 'bin'))
    writeFileSync(join(booted.root, 'bin/ls'), '#!/bin/sh\necho fake', { mode: 0o755 })
    const path = process.env.PATH
    process.env.PATH = `${booted.root}/bin:.:${path}`
    try {
      expect((await run({ command: 'ls' })).stdout).not.toContain('fake')
      expect((await run({ command: ['ls'] })).stdout).not.toContain('fake')
    } finally {
      process.env.PATH = path
    }
  })
})

describe('unified_exec/run: time', () => {
  it('ends the whole process group within a second of the limit, even when it ignores signals', async () => {
    const naps = [nap(), nap(), nap()]
    const command = `trap "" TERM; ${naps[0]} & (trap "" TERM; ${naps[1]}) & ${naps[2]}; sleep 60`
    const began = Date.now()
    expect(await run({ command, timeout_secs: 1 })).toMatchObject({ timed_out: true, running: false })
    expect(Date.now() - began).toBeLessThan(10_000)
    for (const each of naps) expect(processesWith(each.replace(' ', '\0'))).toEqual([])
  })

  it('ends on time although a process that left the group holds a pipe, and names that process', async () => {
    const left = nap()
    const began = Date.now()
    const result = await call(booted, { command: `setsid ${left} & sleep 60`, timeout_secs: 1 })
    expect(Date.now() - began).toBeLessThan(10_000)
    expect(result.notices?.map(({ code }) => code)).toEqual(['VT_EXEC_SURVIVORS'])
    const survivors = processesWith(left.replace(' ', '\0'))
    expect(survivors.length).toBe(1)
    process.kill(survivors[0]!, 'SIGKILL')
  })

  it('waits until the limit for a program that closed its output', async () => {
    const quiet = nap()
    expect(await run({ command: `exec >&- 2>&-; ${quiet}`, timeout_secs: 1 })).toMatchObject({ timed_out: true })
    expect(processesWith(quiet.replace(' ', '\0'))).toEqual([])
    expect(
      await run({
        command: ['python3', '-c', 'import os,time; os.closerange(0, 256); time.sleep(60)'],
        timeout_secs: 1,
      }),
    ).toMatchObject({ timed_out: true })
  })

  it('ends leftover processes 250 ms after their command, unless it was started in the background', async () => {
    const [left, kept] = [nap(), nap()]
    const began = Date.now()
    const result = await call(booted, { command: `${left} & echo $?` })
    expect(result).toMatchObject({
      ok: true,
      output: { exit_code: 0, stdout: '0\n' },
      notices: [{ code: 'VT_EXEC_CHILDREN_ENDED' }],
    })
    expect(Date.now() - began).toBeLessThan(20_000)
    expect(processesWith(left.replace(' ', '\0'))).toEqual([])

    await run({ command: `${kept} & echo`, background: true, session_id: 'bg' })
    expect(
      await eventually(
        async () => !(await output(booted, { action: 'poll', session_id: 'bg', yield_time_ms: 0 })).running,
      ),
    ).toBe(true)
    expect(processesWith(kept.replace(' ', '\0')).length).toBe(1)
    await output(booted, { action: 'close', session_id: 'bg' })
    expect(processesWith(kept.replace(' ', '\0'))).toEqual([])
  })

  it('names a process that left a command, and ends it with the session of the caller', async () => {
    const [left, kept] = [nap(), nap()]
    const own = await bootExec()
    const leave = (command: string, input: object = {}) =>
      call(own, { command: `setsid ${command} >/dev/null 2>&1 & echo started`, ...input })
    try {
      for (const [answer, name, end] of [
        [await leave(left), left, 'They end with this session; give background: true to keep them.'],
        [
          await leave(kept, { background: true, yield_time_ms: 30_000 }),
          kept,
          'Those that left the session of the command stay; close ends the others.',
        ],
      ] as const) {
        expect(answer).toMatchObject({ ok: true, output: { stdout: 'started\n', running: false } })
        expect(answer.notices).toMatchObject([{ code: 'VT_EXEC_SURVIVORS', message: expect.stringContaining(name) }])
        expect(answer.notices![0]!.message).toContain(end)
        expect(processesWith(name.replace(' ', '\0')).length).toBe(1)
      }
      await own[Symbol.asyncDispose]()
      expect(processesWith(left.replace(' ', '\0'))).toEqual([])
      expect(processesWith(kept.replace(' ', '\0')).length).toBe(1)
    } finally {
      await own[Symbol.asyncDispose]()
      for (const pid of processesWith(kept.replace(' ', '\0'))) process.kill(pid, 'SIGKILL')
    }
  })

  it('ends at once when the caller aborts', async () => {
    const long = nap()
    const abort = new AbortController()
    const began = Date.now()
    const pending = booted.call('unified_exec', { command: `${long} & ${long}` }, { signal: abort.signal })
    await eventually(() => processesWith(long.replace(' ', '\0')).length === 2)
    abort.abort()
    expect(await pending).toMatchObject({ ok: false, error: { code: 'VT_CALL_INTERRUPTED' } })
    expect(await eventually(() => processesWith(long.replace(' ', '\0')).length === 0, 10_000)).toBe(true)
    expect(Date.now() - began).toBeLessThan(15000)
    expect((await output(booted, { action: 'list' })).sessions).toEqual([])
  })
})

describe('unified_exec/run: output', () => {
  it('returns the whole output of a command that ends right after writing it', async () => {
    const program = `process.stdout.write('x'.repeat(1_000_000) + 'end\\n')`
    const answer = await run({ command: [process.execPath, '-e', program], max_output_tokens: 1000 })
    expect(answer.stdout_bytes).toBe(1_000_004)
    expect(answer.stdout.endsWith('xend\n')).toBe(true)
    expect((await booted.read(answer.spool_path))?.length).toBe(1_000_004)
  })

  it('keeps characters whole, strips escape sequences and keeps the last state of a line', async () => {
    const code =
      'import sys,time\nfor b in "é€😀".encode(): sys.stdout.buffer.write(bytes([b])); sys.stdout.flush(); time.sleep(0.005)'
    expect((await run({ command: ['python3', '-c', code] })).stdout).toBe('é€😀')
    expect((await run({ command: ['printf', 'a\\xff\\xfeb\\n'] })).stdout).toBe('a��b\n')
    expect(
      (
        await run({
          command: ['printf', '\\033[1;31mred\\033[0m\\033]0;title\\007 \\033(Bx\\r\\n10%%\\r50%%\\r100%%\\nend'],
        })
      ).stdout,
    ).toBe('red x\n100%\nend')
    expect((await run({ command: ['printf', '\\033[31mred'], tty: true })).output).toBe('\x1b[31mred')
  })

  it('shows both ends of long output at line borders and names the file with the rest', async () => {
    const answer = await run({ command: 'seq 1 5000; seq 1 5000 >&2', max_output_tokens: 250 })
    const [, head, lines, bytes, path, tail] =
      /^([\s\S]*)\[… (\d+) lines \((\d+) bytes\) omitted; full output: (\S+) …\]\n([\s\S]*)$/.exec(answer.stdout)!
    expect(head).toMatch(/^1\n2\n[\d\n]*\n$/)
    expect(tail).toMatch(/^\d+\n[\d\n]*\n5000\n$/)
    expect(Number(lines) + head!.split('\n').length - 1 + tail!.split('\n').length - 1).toBe(5000)
    expect(Number(bytes) + head!.length + tail!.length).toBe(answer.stdout_bytes)
    expect(await booted.read(path!)).toBe(Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join(''))
    expect(answer.stderr.length).toBeGreaterThan(150)
    expect(answer.stdout.length + answer.stderr.length).toBeLessThan(1000 + 2 * 120)
    expect(answer.next).toEqual({ tool: 'unified_exec', input: { action: 'inspect', spool_path: path } })
  })

  const size = rounds(72, 1000) * 1_000_000
  it(`counts ${size} bytes on each stream exactly, within the limits of memory and disk`, async () => {
    global.gc?.()
    const before = process.memoryUsage().rss
    const command = `head -c ${size} /dev/zero | tr "\\0" a; echo; head -c ${size} /dev/zero | tr "\\0" b >&2; echo last`
    const answer = await run({ command, timeout_secs: 600 })
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    expect(answer).toMatchObject({
      exit_code: 0,
      stdout_bytes: size + 6,
      stderr_bytes: size,
      truncated: true,
      spool_truncated: true,
    })
    expect(answer.stdout.endsWith('a\nlast\n')).toBe(true)
    expect(answer.stderr.endsWith('bbb')).toBe(true)
    expect((await booted.read(answer.spool_path))?.length).toBe(67_108_864)
  }, 600_000)

  it('counts endless output until the limit', async () => {
    const answer = await run({ command: 'yes', timeout_secs: 1 })
    expect(answer).toMatchObject({ timed_out: true, truncated: true })
    expect(answer.stdout_bytes).toBeGreaterThan(1_000_000)
  })

  it('streams the output of each command as progress, character by character', async () => {
    const told = async (name: string): Promise<string> => {
      let text = ''
      // Each piece is read separately, and the last ones are printed after the first ones were reported.
      const command = `printf '\\303'; sleep 0.02; printf '\\244\\n'; for i in 1 2 3; do echo ${name} $i; sleep 0.02; done; until [ -e ${name}.seen ]; do sleep 0.01; done; echo ${name} 4`
      const onProgress = (more: { text?: string }): void => {
        text += more.text ?? ''
        if (text.includes(`${name} 3`)) writeFileSync(join(booted.root, `${name}.seen`), '')
      }
      await booted.call('unified_exec', { command }, { onProgress })
      return text
    }
    const names = ['one', 'two', 'six']
    expect(await Promise.all(names.map(told))).toEqual(
      names.map((name) => `ä\n${[1, 2, 3, 4].map((step) => `${name} ${step}\n`).join('')}`),
    )
  })
})
