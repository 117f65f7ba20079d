import type { Readable } from 'node:stream'
import { problem } from '../../../core/shapes/index.js'
import { createChildEnvironment } from '../../../core/system/index.js'
import { startWithExeca } from './start_with_execa.js'
import { hasSettled, processGroups, terminate, type ProgramEnd, type Program } from './run.js'

/** The time for the last output of an ended program, when another process holds its pipes. */
const LAST_OUTPUT_MS = 250

export interface ShortLimits {
  signal: AbortSignal
  seconds: number
  /** Limit of each stream in bytes. A program that prints more is ended. */
  most: number
  /** Decides from the output so far whether to stop waiting for the program. All limits still apply. */
  shouldDetach?: (stdout: Buffer) => boolean
  /**
   * Provides a socket as descriptor 3, whose data becomes `socketOutput`. Unlike a pipe, a socket cannot be opened
   * through /proc.
   */
  socket?: true
}
export interface ShortResult extends ProgramEnd {
  /** Set if the program asked to run on. */
  detached?: true
  stdout: Buffer
  stderr: Buffer
  socketOutput: Buffer
}

/**
 * Runs a program to its end with execa; `undefined` if it cannot start. Adds to execa: the program leads its own
 * process group, which is ended at the time limit, at an abort, at too much output, and when this process ends. A
 * grandchild that holds a pipe does not prolong the call. Only variables of `createChildEnvironment` are passed on.
 * Errors: VT_CALL_ABORTED.
 */
export async function runShort(
  { file, args, cwd, env, parentEnv, input }: Omit<Program, 'late_stderr'>,
  { signal, seconds, most, shouldDetach, socket }: ShortLimits,
): Promise<ShortResult | undefined> {
  if (signal.aborted) throw problem('VT_CALL_ABORTED')
  const started = await startWithExeca(
    { file, args, cwd, env: { ...createChildEnvironment(parentEnv), ...env } },
    { input, socket },
  )
  if (!started) return undefined
  const { child, settled } = started
  const pid = child.pid!
  const state = { timed_out: false, stopped: false }
  let ended: Promise<void> | undefined
  const end = (why?: keyof typeof state): void => {
    if (ended === undefined && why !== undefined) state[why] = true
    ended ??= terminate(child)
  }
  const abort = (): void => end()
  signal.addEventListener('abort', abort, { once: true })
  // The call may have been aborted while the program was started.
  if (signal.aborted) abort()
  const timer = setTimeout(end, seconds * 1000, 'timed_out')
  processGroups.add(pid)
  const streams = [child.stdout, child.stderr, socket && child.stdio[3]] as (Readable | undefined)[]
  const [stdout, stderr, socketOutput] = streams.map((stream) => collect(stream, most, () => end('stopped')))
  const exited = new Promise<number | undefined>((resolve) => child.once('exit', (code) => resolve(code ?? undefined)))
  const toResult = (exit_code: number | undefined): ShortResult => ({
    exit_code,
    ...state,
    stdout: stdout!(),
    stderr: stderr!(),
    socketOutput: socketOutput!(),
  })
  const over = waitForEnd()
  if (!shouldDetach) return over
  const leaves = new Promise<ShortResult>((resolve) => {
    child.stdout!.on('data', () => shouldDetach(stdout!()) && resolve({ ...toResult(undefined), detached: true }))
  })
  // Failures of a detached program are ignored.
  over.catch(() => {})
  return Promise.race([leaves, over])

  async function waitForEnd(): Promise<ShortResult> {
    try {
      const exit_code = await exited
      if (!(await hasSettled(settled, LAST_OUTPUT_MS))) for (const stream of streams) stream?.destroy()
      await settled
      await ended
      if (signal.aborted) throw problem('VT_CALL_ABORTED')
      return toResult(exit_code)
    } finally {
      processGroups.delete(pid)
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }
}

/** Collects a stream. Data beyond the limit is dropped, so that the program does not block while it is being ended. */
function collect(stream: Readable | undefined, most: number, enough: () => void): () => Buffer {
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
