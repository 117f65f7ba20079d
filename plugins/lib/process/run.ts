import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { problem, type Launch } from '../../../core/shapes/index.js'
import { environment, signalGroup, start } from '../../../core/system/index.js'
import { watchBurden, type Burden } from './resource_limits.js'

/** For programs that walk a directory `cwd` is its `Handle.ref`, so that no swap of a path leads them elsewhere; `env` is added to what all get. */
export interface Program extends Omit<Launch, 'env'> {
  env?: Record<string, string>
  /** Written to standard input, which is closed then; without it standard input is empty. */
  input?: Buffer
  /** Its messages are read when it has ended: each line through a pipe wakes us and takes the program's processor. */
  late_stderr?: boolean
}
export interface ProcessLimits {
  signal: AbortSignal
  seconds: number
  /** Looked at now and then, where the system tells. */
  burden?: Burden
  /** Is told of the process. */
  onStart?: (pid: number) => void
}
export interface Ended {
  /** Absent when a signal ended the program. */
  exit_code: number | undefined
  timed_out: boolean
  /** The consumer had enough. */
  stopped: boolean
  /** It read more or took more memory than it may. */
  overburdened?: boolean
}
/** Contract: `false` ends the program; a promise holds the next chunk back until it settles. */
export type Consumer = (chunk: Buffer) => void | false | Promise<void | false>

const grace = { term: 200, kill: 100 }

/**
 * Runs a program in a process group of its own and hands its output to consumers. `undefined` when it cannot be started.
 * After the limit, an abort or enough output the whole group is gone within 300 ms, and a grandchild that holds a pipe
 * does not prolong the call. Errors: VT_CALL_ABORTED, VT_INPUT_INVALID for an argument with a NUL character.
 */
export async function runProgram(
  program: Program,
  limits: ProcessLimits,
  onStdout: Consumer,
  onStderr?: Consumer,
): Promise<Ended | undefined> {
  if (limits.signal.aborted) throw problem('VT_CALL_ABORTED')
  const unfit = program.args.find((arg) => arg.includes('\0'))
  if (unfit !== undefined)
    throw problem(
      'VT_INPUT_INVALID',
      {
        problem: `${JSON.stringify(unfit.replace(/^--[a-z-]+=/, '').slice(0, 80))} has a NUL character; no program can be given that.`,
      },
      { hint: 'Leave it out.' },
    )
  using messages = program.late_stderr ? scratch() : undefined
  const { file, args, cwd, env } = program
  const child = start(
    { file, args, cwd, env: { ...environment(), ...env } },
    [program.input ? 'pipe' : 'ignore', 'pipe', messages?.fd ?? 'pipe'],
    'brief',
  )
  const exited = new Promise<number | undefined>((resolve) => {
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => resolve(code ?? undefined))
  })
  if (child.pid === undefined) return void (await exited)
  // A program that ends before it has read its input is no error of ours.
  child.stdin?.on('error', () => {})
  child.stdin?.end(program.input)

  let ended: Promise<void> | undefined
  const end = () => (ended ??= terminate(child))
  groups.add(child.pid)
  limits.onStart?.(child.pid)
  const state = { timed_out: false, stopped: false, overburdened: false }
  const onAbort = () => void end()
  const timer = setTimeout(() => {
    state.timed_out = true
    void end()
  }, limits.seconds * 1000)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  const unwatch =
    limits.burden &&
    watchBurden(child.pid, limits.burden, () => {
      state.overburdened = true
      void end()
    })
  const enough = () => {
    state.stopped = true
    void end()
  }
  try {
    const stderr = child.stderr && consume(child.stderr, onStderr ?? (() => {}), enough)
    await Promise.all([consume(child.stdout!, onStdout, enough), stderr])
    const exit_code = await exited
    await ended
    messages?.each((chunk) => void onStderr?.(chunk))
    if (limits.signal.aborted) throw problem('VT_CALL_ABORTED')
    return { exit_code, ...state }
  } catch (error) {
    await end()
    throw error
  } finally {
    groups.delete(child.pid)
    clearTimeout(timer)
    unwatch?.()
    limits.signal.removeEventListener('abort', onAbort)
  }
}

/** Process groups that are ended with this process: nobody waits for them when it ends at once. */
export const groups = new Set<number>()
process.on('exit', () => groups.forEach((pid) => signalGroup(pid, 'SIGKILL')))

/** A file without a name, gone when it is let go of. */
function scratch(): Disposable & { fd: number; each(take: (chunk: Buffer) => void): void } {
  const path = join(tmpdir(), `vtcode-${randomUUID()}`)
  const fd = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  const each = (take: (chunk: Buffer) => void) => {
    for (let at = 0; at < 67_108_864;) {
      const chunk = Buffer.allocUnsafe(65_536)
      const bytes = readSync(fd, chunk, 0, chunk.length, at)
      if (bytes === 0) return
      take(chunk.subarray(0, bytes))
      at += bytes
    }
  }
  return { fd, each, [Symbol.dispose]: () => closeSync(fd) }
}

/** Ends a program with all it started: SIGTERM to the group, 200 ms, SIGKILL, 100 ms, then our ends of the pipes are closed. */
export async function terminate(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (const [signal, ms] of [
    ['SIGTERM', grace.term],
    ['SIGKILL', grace.kill],
  ] as const) {
    signalGroup(child.pid!, signal)
    if (await settles(closed, ms)) return
  }
  child.stdin?.destroy()
  child.stdout?.destroy()
  child.stderr?.destroy()
}

/** Whether a promise settles within `ms` milliseconds; without a number it is waited for. */
export function settles(promise: Promise<unknown>, ms?: number): Promise<boolean> {
  return new Promise((resolve) => {
    // Where this process itself was held up, what is long there is only read now: the time is over when it has been looked for.
    const over = (): void => void setImmediate(() => setImmediate(resolve, false))
    const timer = ms === undefined ? undefined : setTimeout(over, ms)
    const done = () => {
      clearTimeout(timer)
      resolve(true)
    }
    promise.then(done, done)
  })
}

/** Reads a pipe to its end, a chunk at a time; what comes after "enough" is dropped, so that the program is never blocked by us. */
function consume(stream: Readable, consumer: Consumer, enough: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let open = true
    // Node reads on once the program has ended, paused or not: what comes meanwhile waits for its turn.
    let turn: Promise<void> | undefined
    const take = (answer: void | false) => {
      if (answer !== false || !open) return
      open = false
      enough()
    }
    const failed = (error: unknown) => {
      open = false
      reject(error as Error)
    }
    const hand = (chunk: Buffer): void | Promise<void> => {
      if (!open) return
      const answer = consumer(chunk)
      return answer instanceof Promise ? answer.then(take) : take(answer)
    }
    const next = (busy: Promise<void>) => {
      stream.pause()
      const mine: Promise<void> = busy.then(() => {
        if (turn !== mine) return
        turn = undefined
        stream.resume()
      })
      mine.catch(failed)
      turn = mine
    }
    stream.on('data', (chunk: Buffer) => {
      if (!open) return
      try {
        const busy = turn ? turn.then(() => hand(chunk)) : hand(chunk)
        if (busy) next(busy)
      } catch (error) {
        failed(error)
      }
    })
    const over = () => void (turn ?? Promise.resolve()).then(resolve, failed)
    stream.once('error', over)
    stream.once('close', over)
  })
}

/** A consumer that keeps the end of a text, at most `limit` bytes of it, and tells it without escape sequences. */
export function tail(limit = 16_384): { take: Consumer; text: () => string } {
  let kept = Buffer.alloc(0)
  return {
    take(chunk) {
      kept = Buffer.concat([kept, chunk])
      if (kept.length > limit) kept = kept.subarray(kept.length - limit)
    },
    text: () => process.getBuiltinModule('node:util').stripVTControlCharacters(kept.toString()),
  }
}
