import type { ChildProcess } from 'node:child_process'
import { endWithParent } from '../../../core/system/index.js'
import type { Launch } from '../../../core/shapes/index.js'

export interface ExecaInput {
  /** Written to standard input, which is then closed. Standard input is empty without it. */
  input?: Buffer | undefined
  /**
   * Provides a socket as descriptor 3. Unlike a pipe, a socket cannot be opened through /proc. Standard input is empty.
   */
  socket?: true | undefined
}
/** A started program; the promise resolves, and never rejects, after its end and that of its pipes. */
export interface StartedProgram {
  child: ChildProcess
  settled: Promise<unknown>
}

/**
 * Starts a program that ends by itself, with execa, as the leader of a process group that ends with this process.
 * Returns `undefined` if it cannot start.
 */
export async function startWithExeca(
  { file, args, cwd, env }: Launch,
  { input, socket }: ExecaInput = {},
): Promise<StartedProgram | undefined> {
  // Loaded late: most processes run no such program, and loading execa takes longer than most of these runs.
  const { execa } = await import('execa')
  const child = execa(file, args, {
    cwd,
    env,
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    windowsHide: true,
    ...(input === undefined ? { stdin: 'ignore' } : { input }),
    ...(socket && { stdin: undefined, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] }),
  })
  if (child.pid === undefined) return void (await child)
  endWithParent(child, 'brief')
  return { child, settled: child }
}
