import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { problem, type Launch } from '../../../core/shapes/index.js'
import { createChildEnvironment, signalGroup, spawnProgram } from '../../../core/system/index.js'
import { watchUsage, type ResourceUsage } from './resource_limits.js'
import { startWithExeca } from './start_with_execa.js'

/**
 * A program to run. A program that walks a directory gets `Handle.ref` as `cwd`, so that swapped paths cannot redirect
 * it. `env` is added to the common environment.
 */
export interface Program extends Omit<Launch, 'env'> {
  env?: Record<string, string>
  /** The environment whose common variables are passed on; default: that of this process. */
  parentEnv?: Environment
  /** Written to standard input, which is then closed. Standard input is empty without it. */
  input?: Buffer
  /**
   * Read standard error of a hot program after the end only: each line through a pipe wakes this process and takes
   * processor time from the program.
   */
  late_stderr?: boolean
  /**
   * An engine that answers many calls or that a cold start waits for: started without execa, which takes longer to load
   * than such a program to run.
   */
  hot?: true
}
export interface ProcessLimits {
  signal: AbortSignal
  seconds: number
  /** Checked periodically if the system provides the figures. */
  maxUsage?: ResourceUsage
  /** Called with the process id. */
  onStart?: (pid: number) => void
}
export interface ProgramEnd {
  /** Absent if a signal ended the program. */
  exit_code: number | undefined
  timed_out: boolean
  /** Set if the consumer stopped the program. */
  stopped: boolean
  /** Set if the program exceeded `maxUsage`. */
  overLimit?: boolean
}
/** Contract: `false` ends the program. A promise delays the next chunk until it settles. */
export type Consumer = (chunk: Buffer) => void | false | Promise<void | false>

type Environment = Readonly<Record<string, string | undefined>>

const grace = { term: 200, kill: 100 }

/**
 * Runs a program in its own process group and passes its output to consumers. Returns `undefined` if the program cannot
 * start. After the time limit, an abort or enough output the whole group ends within 300 ms. A grandchild that holds a
 * pipe does not prolong the call. Errors: VT_CALL_ABORTED, VT_INPUT_INVALID for an argument with a NUL character.
 */
export async function runProgram(
  program: Program,
  limits: ProcessLimits,
  onStdout: Consumer,
  onStderr?: Consumer,
): Promise<ProgramEnd | undefined> {
  if (limits.signal.aborted) throw problem('VT_CALL_ABORTED')
  const unfit = program.args.find((arg) => arg.includes('\0'))
  if (unfit !== undefined) {
    const value = JSON.stringify(unfit.replace(/^--[a-z-]+=/, '').slice(0, 80))
    throw problem(
      'VT_INPUT_INVALID',
      { problem: `${value} has a NUL character, which no program accepts.` },
      { hint: 'Remove the NUL character.' },
    )
  }
  using messages = program.late_stderr ? openScratchFile() : undefined
  const child = program.hot
    ? await startEngine(program, messages?.fd)
    : (await startWithExeca(toLaunch(program), { input: program.input }))?.child
  if (child?.pid === undefined) return undefined
  const exited = new Promise<number | undefined>((resolve) => {
    child.once('close', (code) => resolve(code ?? undefined))
  })

  let ended: Promise<void> | undefined
  const end = () => (ended ??= terminate(child))
  processGroups.add(child.pid)
  limits.onStart?.(child.pid)
  const state = { timed_out: false, stopped: false, overLimit: false }
  const onAbort = () => void end()
  const timer = setTimeout(() => {
    state.timed_out = true
    void end()
  }, limits.seconds * 1000)
  limits.signal.addEventListener('abort', onAbort, { once: true })
  // The call may have been aborted while the program was started.
  if (limits.signal.aborted) onAbort()
  const unwatch =
    limits.maxUsage &&
    watchUsage(child.pid, limits.maxUsage, () => {
      state.overLimit = true
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
    processGroups.delete(child.pid)
    clearTimeout(timer)
    unwatch?.()
    limits.signal.removeEventListener('abort', onAbort)
  }
}

const toLaunch = ({ file, args, cwd, env, parentEnv }: Program): Launch => ({
  file,
  args,
  cwd,
  env: { ...createChildEnvironment(parentEnv), ...env },
})

async function startEngine(program: Program, stderr: number | undefined): Promise<ChildProcess | undefined> {
  const { input } = program
  const child = spawnProgram(toLaunch(program), [input ? 'pipe' : 'ignore', 'pipe', stderr ?? 'pipe'], 'brief')
  if (child.pid === undefined) return void (await new Promise((resolve) => child.once('error', resolve)))
  // A program may end before it has read its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  return child
}

/** Process groups to kill when this process exits. */
export const processGroups = new Set<number>()
process.on('exit', () => processGroups.forEach((pid) => signalGroup(pid, 'SIGKILL')))

/** Opens an unlinked file, which disappears when it is closed. */
function openScratchFile(): Disposable & { fd: number; each(take: (chunk: Buffer) => void): void } {
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

/**
 * Ends a program and all processes it started: SIGTERM to the group, SIGKILL after 200 ms; 100 ms later our pipe ends
 * are closed.
 */
export async function terminate(child: ChildProcess): Promise<void> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  for (const [signal, ms] of [
    ['SIGTERM', grace.term],
    ['SIGKILL', grace.kill],
  ] as const) {
    signalGroup(child.pid!, signal)
    if (await hasSettled(closed, ms)) return
  }
  child.stdin?.destroy()
  child.stdout?.destroy()
  child.stderr?.destroy()
}

/** Checks whether a promise settles within `ms` milliseconds; without a number waits for it. */
export function hasSettled(promise: Promise<unknown>, ms?: number): Promise<boolean> {
  return new Promise((resolve) => {
    // After a busy period this process notices settled promises only now, so the time limit applies one event loop turn
    // later.
    const over = (): void => void setImmediate(() => setImmediate(resolve, false))
    const timer = ms === undefined ? undefined : setTimeout(over, ms)
    const done = () => {
      clearTimeout(timer)
      resolve(true)
    }
    promise.then(done, done)
  })
}

/** Reads a pipe to its end, chunk by chunk. Data after "enough" is dropped, so that the program never blocks. */
function consume(stream: Readable, consumer: Consumer, enough: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let open = true
    // Node drains a pipe of an ended program even when paused: these chunks wait for their turn.
    let turn: Promise<void> | undefined
    const take = (answer: void | false) => {
      if (answer !== false || !open) return
      open = false
      enough()
    }
    const fail = (error: unknown) => {
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
      mine.catch(fail)
      turn = mine
    }
    stream.on('data', (chunk: Buffer) => {
      if (!open) return
      try {
        const busy = turn ? turn.then(() => hand(chunk)) : hand(chunk)
        if (busy) next(busy)
      } catch (error) {
        fail(error)
      }
    })
    const over = () => void (turn ?? Promise.resolve()).then(resolve, fail)
    stream.once('error', over)
    stream.once('close', over)
  })
}

/** Creates a consumer that keeps at most the last `limit` bytes of a text and removes escape sequences. */
export function createTail(limit = 16_384): { take: Consumer; text: () => string } {
  let kept = Buffer.alloc(0)
  return {
    take(chunk) {
      kept = Buffer.concat([kept, chunk])
      if (kept.length > limit) kept = kept.subarray(kept.length - limit)
    },
    text: () => process.getBuiltinModule('node:util').stripVTControlCharacters(kept.toString()),
  }
}
