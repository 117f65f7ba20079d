/// <reference types="node-pty" />
import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import headless from '@xterm/headless'
import { keepCompiledOf, seedCompiled } from './compiled.js'
import { hold } from './held.js'
import type { Home } from './peer.js'
import { runOnStreams } from './program_run.js'
import { bin } from './terminal.js'

/** A place to start a program in. */
type Place = Pick<Home, 'root' | 'env'>
export interface Shape {
  program?: string
  env?: Record<string, string>
  columns?: number
  rows?: number
  /** True if the terminal answers queries. */
  answers?: boolean
  /** Runs `vtcode` in the process of the test, on streams that say that they are a terminal: for tests whose subject is no process. */
  inside?: boolean
}
/** A program on a terminal. */
interface Child {
  readonly pid: number
  write(data: string): void
  resize(columns: number, rows: number): void
  onData(read: (data: string) => void): void
  onExit(ended: (code: number) => void): void
  destroy(): void
}

async function startChild(
  place: Place,
  words: string[],
  { program = process.execPath, env = {}, columns = 80, rows = 24 }: Shape,
): Promise<Child> {
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const argv = program === process.execPath && !words[0]?.endsWith('.mjs') ? [bin, ...words] : words
  const environment = { ...place.env, TERM: 'xterm-256color', PS1: '$ ', ...env }
  seedCompiled(words, environment)
  const child = spawn(program, argv, { cwd: place.root, env: environment, cols: columns, rows })
  return {
    pid: child.pid,
    write: (data) => child.write(data),
    resize: (columns, rows) => child.resize(columns, rows),
    onData: (read) => void child.onData(read),
    onExit: (ended) => void child.onExit(({ exitCode }) => (keepCompiledOf(words, environment), ended(exitCode))),
    destroy: () => (child as unknown as { destroy(): void }).destroy(),
  }
}

/** Starts `vtcode` in this process; it ends with the test at the latest. */
function startInside(place: Place, words: string[], { env = {}, columns = 80, rows = 24 }: Shape): Child {
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode: (on: boolean) => (stdin.isRaw = on),
  })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns, rows })
  const stop = new AbortController()
  const running = runOnStreams(
    words,
    { cwd: place.root, env: { ...place.env, TERM: 'xterm-256color', ...env } },
    { stdin, stdout: output, stderr: output, signal: stop.signal },
  )
  hold({ [Symbol.asyncDispose]: async () => (stop.abort(), void (await running)) })
  return {
    // No signal is sent to it: the process is that of the test.
    pid: NaN,
    write: (data) => void stdin.write(data),
    resize: (columns, rows) => (Object.assign(output, { columns, rows }), void output.emit('resize')),
    // A terminal begins each line at its first column.
    onData: (read) =>
      void output.setEncoding('utf8').on('data', (data: string) => read(data.replace(/(?<!\r)\n/g, '\r\n'))),
    onExit: (ended) => void running.then(ended),
    destroy: () => stop.abort(),
  }
}

/** A person at a drawn terminal: `vtcode` with these words, or another program, and the content of the screen and of its history. */
export async function drawn(place: Place, words: string[], shape: Shape = {}) {
  const { columns = 80, rows = 24, answers = true } = shape
  const child = shape.inside ? startInside(place, words, shape) : await startChild(place, words, shape)
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: 20_000, allowProposedApi: true })
  if (answers) screen.onData((data) => child.write(data))
  let [raw, held] = ['', '']
  const chunks: string[] = []
  child.onData((data) => {
    raw += data
    chunks.push(data)
    // A frame that came in part is drawn when the rest is there: in a half of one a change of size may cut the row that is just drawn.
    held += data
    const begun = held.lastIndexOf('\u001b[?2026h')
    const whole = begun > held.lastIndexOf('\u001b[?2026l') ? begun : held.length
    screen.write(held.slice(0, whole))
    held = held.slice(whole)
  })
  const ended = new Promise<number>((resolve) => child.onExit(resolve))
  /** All rows there are, with those above the screen; without empty ones at the end. */
  const lines = (): string[] => {
    const { active } = screen.buffer
    const all = Array.from({ length: active.length }, (_, at) => active.getLine(at)!.translateToString(true))
    while (all.at(-1) === '') all.pop()
    return all
  }
  const text = (): string => lines().join('\n')
  return {
    screen,
    pid: child.pid,
    kill: (signal: string) => process.kill(child.pid, signal),
    /** The whole output of the program. */
    raw: () => raw,
    chunks,
    lines,
    text,
    type: (data: string) => child.write(data),
    /** Closes the window: the output has no reader any more. */
    close: () => child.destroy(),
    resize(columns: number, rows: number): void {
      child.resize(columns, rows)
      screen.resize(columns, rows)
    },
    /** Waits until this stands there. */
    until: (wanted: string | RegExp) => expect.poll(text, { message: `${wanted}`, interval: 20 }).toMatch(wanted),
    /** Answers the question that stands there, when it has the keys. */
    answer: async (key: string) => {
      await expect.poll(text).toMatch(/^y yes(?: ·|$)/m)
      child.write(key)
    },
    gone: (unwanted: string | RegExp) => expect.poll(text).not.toMatch(unwanted),
    end: async () => {
      const code = await ended
      // The last bytes are drawn last.
      await new Promise<void>((resolve) => screen.write(held, resolve))
      return code
    },
  }
}

/** Sequences that no session may write, and that a frame may not use: erase the history, go home, or write outside of a synchronized frame. */
export function faultsOf(raw: string): string[] {
  // eslint-disable-next-line no-control-regex
  const forbidden = [...raw.matchAll(/\u001b\[(?:2J|3J|H|1;1H)/g)].map(([found]) => JSON.stringify(found))
  return forbidden
}
