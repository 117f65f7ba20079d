/// <reference types="node-pty" />
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { keepCompiledOf, seedCompiled } from './compiled.js'
import type { Home } from './peer.js'

export const bin = fileURLToPath(new URL('../../dist/core/bin.cjs', import.meta.url))

/** A person at a terminal, who starts a program there: `vtcode` with these words, or another one. */
export async function typing(
  place: Home,
  words: string[],
  { program = process.execPath, env = {} }: { program?: string; env?: Record<string, string> } = {},
) {
  // The package's types declare the name that this one resolves to.
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const argv = program === process.execPath ? [bin, ...words] : words
  const environment = { ...place.env, TERM: 'xterm', PS1: '$ ', ...env }
  seedCompiled(words, environment)
  const terminal = spawn(program, argv, { cwd: place.root, env: environment, cols: 120, rows: 24 })
  let shown = ''
  terminal.onData((data) => (shown += data))
  const ended = new Promise<number>((resolve) =>
    terminal.onExit(({ exitCode }) => (keepCompiledOf(words, environment), resolve(exitCode))),
  )
  /** Waits until this is shown, and forgets what was shown before its end; returns that. */
  const until = async (text: string) => {
    await expect.poll(() => shown.includes(text), { timeout: 60_000, message: text }).toBe(true)
    const end = shown.indexOf(text) + text.length
    const before = shown.slice(0, end)
    shown = shown.slice(end)
    return before
  }
  /** Ends with the program; returns its exit code and what was shown last. */
  const end = async () => ({ code: await ended, rest: shown })
  return { terminal, until, end }
}
