/// <reference types="node-pty" />
import { expect } from 'vitest'
import headless from '@xterm/headless'
import { keepCompiledOf, seedCompiled } from './compiled.js'
import type { Home } from './peer.js'
import { bin } from './terminal.js'

/** A place to start a program in. */
type Place = Pick<Home, 'root' | 'env'>
export interface Shape {
  program?: string
  env?: Record<string, string>
  columns?: number
  rows?: number
  /** Whether the terminal answers queries. */
  answers?: boolean
}

/** A person at a terminal that is drawn: `vtcode` with these words, or another program, and what stands on the screen and above it. */
export async function drawn(place: Place, words: string[], { program = process.execPath, env = {}, columns = 80, rows = 24, answers = true }: Shape = {}) {
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const argv = program === process.execPath && !words[0]?.endsWith('.mjs') ? [bin, ...words] : words
  const environment = { ...place.env, TERM: 'xterm-256color', PS1: '$ ', ...env }
  seedCompiled(words, environment)
  const child = spawn(program, argv, { cwd: place.root, env: environment, cols: columns, rows })
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
  const ended = new Promise<number>((resolve) => child.onExit(({ exitCode }) => (keepCompiledOf(words, environment), resolve(exitCode))))
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
    /** What the program wrote. */
    raw: () => raw,
    chunks,
    lines,
    text,
    type: (data: string) => child.write(data),
    /** As when a window is closed: nobody reads any more. */
    close: () => (child as unknown as { destroy(): void }).destroy(),
    resize(columns: number, rows: number): void {
      child.resize(columns, rows)
      screen.resize(columns, rows)
    },
    /** Waits until this stands there. */
    until: (wanted: string | RegExp) => expect.poll(text, { message: `${wanted}` }).toMatch(wanted),
    /** Answers the question that stands there, when it has the keys. */
    answer: async (key: string) => {
      await expect.poll(text).toMatch(/^y yes(?: ·|$)/m)
      child.write(key)
    },
    gone: (unwanted: string | RegExp) => expect.poll(text).not.toMatch(unwanted),
    end: async () => {
      const code = await ended
      // What was written last is drawn last.
      await new Promise<void>((resolve) => screen.write(held, resolve))
      return code
    },
  }
}

/** What no session may write, and what a frame may not do: erase the history, go home, or write outside of a synchronized frame. */
export function faultsOf(raw: string): string[] {
  // eslint-disable-next-line no-control-regex
  const forbidden = [...raw.matchAll(/\u001b\[(?:2J|3J|H|1;1H)/g)].map(([found]) => JSON.stringify(found))
  return forbidden
}
