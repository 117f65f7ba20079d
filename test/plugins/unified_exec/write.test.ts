import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { bootExec, call, error, eventually, lacks, output, readOn, rounds } from '../../support/exec.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec()
})
afterEach(() => booted[Symbol.asyncDispose]())
const start = (command: string | string[], input: object = {}) =>
  output(booted, { action: 'run', command, session_id: 's', yield_time_ms: 250, ...input })
const terminal = (command: string | string[], input: object = {}) =>
  start(command, { tty: true, yield_time_ms: 300, ...input })
const write = (input: object) => output(booted, { action: 'write', session_id: 's', yield_time_ms: 30_000, ...input })
/** Waits until the program has ended or has printed a text. */
const until = async (answer: Promise<any>, sign?: string) => readOn(booted, await answer, sign)
const screen = async (): Promise<string> =>
  (await output(booted, { action: 'inspect', session_id: 's', screen: true })).output
const shows = async (text: string | RegExp) =>
  expect(
    await eventually(async () =>
      typeof text === 'string' ? (await screen()).includes(text) : text.test(await screen()),
    ),
    `${text} in\n${await screen()}`,
  ).toBe(true)
const git = (args: string) => `git -c user.name=a -c user.email=a@b -c init.defaultBranch=main ${args}`

describe('unified_exec/write: pipe', () => {
  it('sends text unchanged and ends the input when asked', async () => {
    await start('cat')
    expect(await write({ input: 'no newline' })).toMatchObject({ stdout: 'no newline', running: true })
    expect(await until(write({ input: '\n', eof: true }))).toMatchObject({ text: '\n', running: false, exit_code: 0 })
  })

  it('sends a megabyte at once and returns it', async () => {
    await start('cat')
    await until(write({ input: 'x'.repeat(1_048_576), eof: true }))
    const answer = await output(booted, { action: 'poll', session_id: 's', cursor: 0 })
    expect(answer.stdout_bytes).toBe(1_048_576)
  })

  it('accepts ctrl-c and ctrl-d on a pipe and refuses other keys', async () => {
    await until(start('trap "echo got it" INT; echo up; cat; echo rest'), 'up\n')
    expect(await error(booted, { action: 'write', session_id: 's', keys: ['up'] })).toMatchObject({
      code: 'VT_INPUT_INVALID',
    })
    expect((await until(write({ keys: ['ctrl-c'] }), 'got it')).text).toContain('got it')
    await start('cat', { session_id: 'c' })
    expect(await until(write({ session_id: 'c', keys: ['Ctrl_D'] }))).toMatchObject({ running: false, exit_code: 0 })
  })

  it('refuses a write to an ended program or a closed input', async () => {
    await start('exit 3', { yield_time_ms: 30_000 })
    expect(await error(booted, { action: 'write', session_id: 's', input: 'x' })).toMatchObject({
      code: 'VT_EXEC_CLOSED',
      details: { exit_code: 3 },
      next: { input: { action: 'inspect' } },
    })
    await start('sleep 30', { session_id: 'd' })
    await write({ session_id: 'd', eof: true, yield_time_ms: 0 })
    expect(await error(booted, { action: 'write', session_id: 'd', input: 'x' })).toMatchObject({
      code: 'VT_EXEC_CLOSED',
      details: { exit_code: null },
    })
    expect(await error(booted, { action: 'write', session_id: 'd' })).toMatchObject({ code: 'VT_INPUT_MISSING' })
  })
})

describe('unified_exec/write: terminal', () => {
  it('keeps the last output of a program that ends at once', async () => {
    for (let round = 0; round < rounds(15, 500); round++) {
      const { output: text, exit_code } = await output(booted, {
        command: 'seq 1 2000; exit 3',
        tty: true,
        max_output_tokens: 50_000,
      })
      expect([text.length, text.endsWith('2000\r\n'), exit_code]).toEqual([10893, true, 3])
    }
    for (let round = 0; round < rounds(15, 500); round++)
      expect((await output(booted, { command: ['echo', 'x'], tty: true })).output).toBe('x\r\n')
  }, 600_000)

  it('reports the signal that ended a program in a terminal', async () => {
    expect(await output(booted, { command: 'kill -TERM $$', tty: true })).toMatchObject({
      exit_code: null,
      signal: 'SIGTERM',
    })
    await terminal('cat')
    expect(await until(write({ keys: ['ctrl-c'] }))).toMatchObject({ running: false, signal: 'SIGINT' })
  })

  it('resizes a terminal a thousand times', async () => {
    await terminal(['bash', '-c', 'trap "stty size" WINCH; while :; do sleep 0.1; done'])
    for (let turn = 0; turn < rounds(60, 1000); turn++) {
      const result = await call(booted, {
        action: 'continue',
        session_id: 's',
        rows: 2 + (turn % 400),
        cols: 10 + (turn % 900),
        yield_time_ms: 0,
      })
      expect(result.ok).toBe(true)
    }
    await output(booted, { action: 'continue', session_id: 's', rows: 41, cols: 77, yield_time_ms: 0 })
    await shows('41 77')
    expect(await error(booted, { action: 'continue', session_id: 's', rows: 0, cols: 0 })).toMatchObject({
      code: 'VT_INPUT_INVALID',
    })
    expect(
      await call(booted, { action: 'continue', session_id: 's', rows: 65535, cols: 65535, yield_time_ms: 0 }),
    ).toMatchObject({ ok: true, notices: [{ code: 'VT_INPUT_CAPPED' }, { code: 'VT_INPUT_CAPPED' }] })
    await output(booted, { action: 'close', session_id: 's' })
  })

  it('answers a program that asks the terminal for its cursor position', async () => {
    const ask = 'stty -echo raw; printf "ab\\033[6n"; IFS= read -r -d R reply; stty sane; printf "<%q>" "$reply"'
    expect((await terminal(['bash', '-c', ask], { yield_time_ms: 30_000 })).output).toContain('[1;3')
  })

  it('pastes text in brackets when the program requests them, and the text cannot close them', async () => {
    const bytes = (count: number): string =>
      `stty raw -echo; printf "ready\\r\\n"; dd bs=1 count=${count} 2>/dev/null | od -An -c`
    await until(terminal(`printf "\\033[?2004h"; ${bytes(21)}`), 'ready')
    const { text: bracketed } = await until(write({ input: 'a\nb\x1b[201~c', paste: true }))
    expect(bracketed.replace(/\s+/g, ' ')).toContain('033 [ 2 0 0 ~ a \\r b [ 2 0 1 ~ c 033 [ 2 0 1 ~')
    await until(terminal(bytes(3), { session_id: 'plain' }), 'ready')
    expect(
      (await until(write({ session_id: 'plain', input: 'a\nb', paste: true }))).text.replace(/\s+/g, ' '),
    ).toContain('a \\r b')
    await start('cat', { session_id: 'pipes' })
    expect(await error(booted, { action: 'write', session_id: 'pipes', input: 'x', paste: true })).toMatchObject({
      code: 'VT_INPUT_INVALID',
    })
  })

  it('survives writes to a program in a terminal that reads nothing', async () => {
    await terminal('stty raw -echo; sleep 30')
    for (let turn = 0; turn < 4; turn++) await write({ input: 'x'.repeat(500_000), yield_time_ms: 0 })
    expect(await output(booted, { command: 'echo alive' })).toMatchObject({ stdout: 'alive\n' })
  })

  it('refuses a write to a terminal whose program has ended', async () => {
    await terminal('true', { yield_time_ms: 30_000 })
    expect(await error(booted, { action: 'write', session_id: 's', input: 'x' })).toMatchObject({
      code: 'VT_EXEC_CLOSED',
    })
    expect(await call(booted, { action: 'continue', session_id: 's', rows: 10 })).toMatchObject({ ok: true })
  })
})

describe('unified_exec/write: real programs', () => {
  it.skipIf(lacks('python3'))('drives a Python REPL', async () => {
    await until(terminal(['python3', '-q']), '>>>')
    expect((await until(write({ input: 'x = 6 * 7\n' }), '>>>')).text).toContain('>>>')
    expect((await until(write({ input: 'print("answer", x)\n' }), 'answer 42')).text).toContain('answer 42')
    expect(await until(write({ keys: ['ctrl-d'] }))).toMatchObject({ running: false, exit_code: 0 })
  })

  it.skipIf(lacks('less'))('drives less', async () => {
    await booted.write('long.txt', Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join(''))
    await terminal(['less', 'long.txt'])
    await shows('line 29')
    await write({ keys: ['page-down'] })
    await shows('line 58')
    await write({ input: '/line 250', keys: ['enter'] })
    await shows('line 250')
    expect(await until(write({ input: 'q' }))).toMatchObject({ running: false, exit_code: 0 })
  })

  it.skipIf(lacks('vi'))('drives vi', async () => {
    await terminal(['vi', '-u', 'NONE', 'note.txt'])
    await shows('note.txt')
    await write({ input: 'ihello', keys: ['enter'], yield_time_ms: 300 })
    await write({ input: 'world', keys: ['esc'], yield_time_ms: 500 })
    await shows(/^hello\s*\nworld/)
    expect(await until(write({ input: ':wq', keys: ['enter'] }))).toMatchObject({ running: false, exit_code: 0 })
    expect(await booted.read('note.txt')).toBe('hello\nworld\n')
  })

  it.skipIf(lacks('top'))('drives top', async () => {
    await terminal(['top'])
    await shows(/PID\s+USER/)
    expect(await until(write({ input: 'q' }))).toMatchObject({ running: false, exit_code: 0 })
  })

  it.skipIf(lacks('git', 'vi'))('drives git rebase -i with an editor', async () => {
    const commits = [1, 2, 3].map((number) => `echo ${number} > f${number}; git add .; ${git(`commit -qm c${number}`)}`)
    await output(booted, { command: [git('init -q'), ...commits].join('; ') })
    await terminal(`git config user.name a; git config user.email a@b; EDITOR="vi -u NONE" git rebase -i HEAD~2`)
    await shows('pick')
    await write({ input: ':%s/^pick/drop/', keys: ['enter'], yield_time_ms: 500 })
    await shows('drop')
    await write({ input: ':wq', keys: ['enter'] })
    await eventually(
      async () => !(await output(booted, { action: 'poll', session_id: 's', yield_time_ms: 200 })).running,
    )
    expect((await output(booted, { command: 'git log --format=%s' })).stdout).toBe('c1\n')
  })

  it('drives a password prompt and keeps the password out of the log', async () => {
    writeFileSync(
      join(booted.root, 'login.sh'),
      'stty -echo; printf "Password: "; read p; stty echo; echo; [ "$p" = s3cret ] && echo welcome',
    )
    await until(terminal(['bash', 'login.sh']), 'Password: ')
    const answer = await until(write({ input: 's3cret', keys: ['enter'] }))
    expect(answer).toMatchObject({ exit_code: 0, running: false })
    expect(answer.text).toContain('welcome')
    expect((await output(booted, { action: 'inspect', session_id: 's' })).output).not.toContain('s3cret')
  })

  it.skipIf(lacks('ssh-keygen'))('drives ssh-keygen', async () => {
    // ssh-keygen drops input that arrives before its question.
    await until(terminal(['ssh-keygen', '-t', 'ed25519', '-f', 'key']), 'passphrase')
    expect((await until(write({ keys: ['enter'] }), 'again')).text).toContain('again')
    expect(await until(write({ keys: ['enter'] }))).toMatchObject({ running: false, exit_code: 0 })
    expect(await booted.read('key.pub')).toMatch(/^ssh-ed25519 /)
  })

  it.skipIf(lacks('npm'))('drives npm init', async () => {
    await terminal(['npm', 'init'])
    // npm init accepts input before its question; after its end a write is refused.
    for (let taken = true; taken;)
      taken = (await call(booted, { action: 'write', session_id: 's', keys: ['enter'], yield_time_ms: 1500 })).ok
    expect(JSON.parse((await booted.read('package.json'))!)).toMatchObject({ version: '1.0.0' })
  })
})
