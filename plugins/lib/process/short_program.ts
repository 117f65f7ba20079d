import type { Readable } from 'node:stream'
import { problem } from '../../../core/shapes/index.js'
import { endWithUs, environment } from '../../../core/system/index.js'
import { groups, terminate, type Ended, type Program } from './run.js'

export interface ShortLimits {
  signal: AbortSignal
  seconds: number
  /** Bytes of each stream: a program that prints more is ended. */
  most: number
  /** Whether what it has printed so far says that nobody is to wait for its end; its limits hold all the same. */
  goesOn?: (stdout: Buffer) => boolean
  /** It gets a socket as descriptor 3, and what it sends there is `aside`: unlike a pipe it cannot be opened by way of /proc. */
  socket?: true
}
export interface Printed extends Ended {
  /** It runs on by its own wish. */
  goes_on?: true
  stdout: Buffer
  stderr: Buffer
  aside: Buffer
}

/**
 * Runs a program to its end, by execa. `undefined` when it cannot be started. What execa leaves out is here: it leads a process group of
 * its own, which is ended as a whole at the time limit, at an abort, when it prints too much and when this process ends; a grandchild
 * that holds a pipe does not prolong the call; nothing of our environment is passed on but what `environment` tells. Errors: VT_CALL_ABORTED.
 */
export async function runShort(
  { file, args, cwd, env, input }: Omit<Program, 'late_stderr'>,
  { signal, seconds, most, goesOn, socket }: ShortLimits,
): Promise<Printed | undefined> {
  if (signal.aborted) throw problem('VT_CALL_ABORTED')
  // Most processes start no such program, and execa takes longer to load than most of these run.
  const { execa } = await import('execa')
  const whole = { ...environment(), ...env }
  const child = execa(file, args, {
    cwd,
    env: whole,
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
  const { pid } = child
  const state = { timed_out: false, stopped: false }
  let ended: Promise<void> | undefined
  const end = (why?: keyof typeof state): void => {
    if (ended === undefined && why !== undefined) state[why] = true
    ended ??= terminate(child)
  }
  const abort = (): void => end()
  signal.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(end, seconds * 1000, 'timed_out')
  groups.add(pid)
  endWithUs(child, 'brief')
  const [stdout, stderr, aside] = [child.stdout, child.stderr, socket && child.stdio[3]].map((stream) =>
    collected(stream as Readable | undefined, most, () => end('stopped')),
  )
  const printed = (exit_code: number | undefined): Printed => ({
    exit_code,
    ...state,
    stdout: stdout!(),
    stderr: stderr!(),
    aside: aside!(),
  })
  const over = toItsEnd()
  if (!goesOn) return over
  const leaves = new Promise<Printed>((resolve) => {
    child.stdout!.on('data', () => goesOn(stdout!()) && resolve({ ...printed(undefined), goes_on: true }))
  })
  // What becomes of a program that nobody waits for is nobody's failure.
  over.catch(() => {})
  return Promise.race([leaves, over])

  async function toItsEnd(): Promise<Printed> {
    try {
      const { exitCode } = await child
      await ended
      if (signal.aborted) throw problem('VT_CALL_ABORTED')
      return printed(exitCode)
    } finally {
      groups.delete(pid)
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }
}

/** What comes beyond the limit is dropped, so that the program is not blocked by us while it is ended. */
function collected(stream: Readable | undefined, most: number, enough: () => void): () => Buffer {
  const chunks: Buffer[] = []
  let bytes = 0
  stream?.on('data', (chunk: Buffer) => {
    if (bytes > most) return
    chunks.push(chunk)
    if ((bytes += chunk.length) > most) enough()
  })
  // Our end is closed when the program is ended.
  stream?.on('error', () => {})
  return () => Buffer.concat(chunks)
}
