import type { Result } from 'vtcode'
import type { Booted } from 'vtcode/test'
import { bootKernel } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootExec, call, lacks, output } from '../../support/exec.js'

let booted: Booted
beforeAll(async () => {
  booted = await bootExec({ files: { 'note.txt': 'one\n' } })
})
afterAll(() => booted[Symbol.asyncDispose]())

/** A call that returns at the end of the program, which these programs reach only with input. */
const toEnd = { tty: true, yield_time_ms: 0, timeout_secs: 120 }
const codes = ({ notices = [] }: Result): string[] => notices.map(({ code }) => code)
const text = (result: Result): string => (result.ok ? (result.text ?? '') : JSON.stringify(result.error))

interface Asking {
  title: string
  command: string | string[]
  how?: object
  /** Text of the screen. */
  shows?: string
  /** The program that it needs. */
  needs?: string
}
const asking: Asking[] = [
  { title: 'a question', command: 'read -p "Proceed? [y/N] " a; echo got $a', shows: 'Proceed? [y/N]' },
  { title: 'a password', command: 'stty -echo; printf "Password: "; read p; stty echo', shows: 'Password:' },
  {
    title: 'a question at /dev/tty',
    command: 'cat note.txt | while read line; do printf "Delete $line? "; read a </dev/tty; done',
    shows: 'Delete one?',
  },
  { title: 'a shell', command: ['bash', '--norc', '-i'], shows: 'bash-' },
  { title: 'a pager', command: 'seq 1 300 | less', shows: '29\n:', needs: 'less' },
  { title: 'an editor', command: 'vi -u NONE note.txt', shows: 'note.txt', needs: 'vi' },
  { title: 'a Python prompt', command: ['python3', '-q'], shows: '>>>', needs: 'python3' },
  { title: 'a Node prompt', command: [process.execPath, '-i'], shows: '>' },
  { title: 'a menu', command: 'select one in a b; do break; done', shows: '2) b' },
  { title: 'a program on pipes', command: 'cat', how: { tty: false, yield_time_ms: 30_000 } },
]

describe('unified_exec/run: a program that waits for input', () => {
  it('answers with the screen and the ways to continue before the time limit', async () => {
    const present = asking.filter(({ needs }) => needs === undefined || !lacks(needs))
    const answers = await Promise.all(
      present.map(async ({ title, command, how, shows = '' }) => {
        const answer = await call(booted, { command, ...toEnd, ...how })
        return [title, codes(answer), text(answer).includes(shows) || text(answer), text(answer).split('\n').at(-1)]
      }),
    )
    expect(answers).toEqual(
      present.map(({ title }) => [
        title,
        ['VT_EXEC_INPUT'],
        true,
        expect.stringMatching(/^running.*, waits for input$/),
      ]),
    )
    const { sessions } = await output(booted, { action: 'list' })
    for (const { session_id } of sessions) await output(booted, { action: 'close', session_id })
  })

  it('waits for the end of a silent program, also after text that looks like a question', async () => {
    const silent = ['printf "Compiling: "; sleep 6', '(sleep 6) | cat', 'read a < <(sleep 6; echo b); echo $a']
    const answers = await Promise.all(
      silent.map((command) => output(booted, { command: ['bash', '-c', command], ...toEnd })),
    )
    expect(answers).toMatchObject(silent.map(() => ({ running: false, exit_code: 0 })))
  })

  it('continues with the input that is written', async () => {
    const session_id = 'asks'
    await output(booted, { command: 'read -p "Name? " a; echo "hello $a"', ...toEnd, session_id })
    const answer = await call(booted, { action: 'write', session_id, input: 'Ada\n', yield_time_ms: 30_000 })
    expect([text(answer), codes(answer)]).toEqual([expect.stringContaining('hello Ada\nexit 0'), []])
  })

  it('reports at a poll that the program still waits, with its screen', async () => {
    const session_id = 'polled'
    await output(booted, { command: 'read -p "Still there? " a', ...toEnd, session_id })
    const answer = await call(booted, { action: 'poll', session_id, yield_time_ms: 30_000 })
    expect([text(answer), codes(answer)]).toEqual([expect.stringContaining('Still there?\nrunning'), ['VT_EXEC_INPUT']])
    expect(codes(await call(booted, { action: 'close', session_id }))).toEqual([])
  })

  it('reports at the time limit that the program waited', async () => {
    const answer = await call(booted, { command: 'read -p "Proceed? " a', tty: true, timeout_secs: 2 })
    expect(text(answer)).toBe('Proceed?\ntimed out after 2 s, while it waited for input')
    expect(codes(answer)).toEqual(['VT_EXEC_INPUT'])
  })

  it('survives a program that asks a thousand questions', async () => {
    const session_id = 'many'
    const command = 'for i in $(seq 1 1000); do read -p "Question $i? " a || exit 3; done; echo "all answered"'
    expect(text(await call(booted, { command, ...toEnd, session_id }))).toContain('Question 1?\nrunning')
    await output(booted, { action: 'write', session_id, input: 'y\n' })
    let answer = await output(booted, { action: 'write', session_id, input: 'y\n'.repeat(999), yield_time_ms: 30_000 })
    while (answer.running) answer = await output(booted, { action: 'poll', session_id, yield_time_ms: 30_000 })
    expect(answer).toMatchObject({ exit_code: 0, output: expect.stringContaining('all answered') })
  })

  it.skipIf(lacks('bwrap'))('finds a waiting program in the sandbox', async () => {
    await using boxed = await bootKernel({ config: { sandbox: { mode: 'required' } } })
    const answer = await call(boxed, { command: 'read -p "Proceed? " a', ...toEnd })
    expect([text(answer), codes(answer)]).toEqual([expect.stringContaining('waits for input'), ['VT_EXEC_INPUT']])
  })
})
