import { isDeepStrictEqual } from 'node:util'
import type { Command } from 'commander'
import { omitUndefined, VtError } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import type { Job, OpenQueue } from '../../lib/jobs/index.js'
import { formatDocument, formatForStdout, say } from '../../lib/terminal/index.js'
import type { EventSink } from '../base/index.js'
import type { CollectedRun } from '../remote/index.js'
import { toModelId } from './session_flags.js'
import type { WorkFlags } from './work.js'

/** Flags of a run on another machine. */
export interface RemoteFlags {
  remote?: true
  detach?: true
  key?: string
}
export const addRemoteOptions = (command: Command): Command =>
  command
    .option('--remote', 'run on another machine; merge changes')
    .option('--detach', 'with --remote: print the id and end')
    .option('--key <key>', 'with --remote: start a key only once')

// Flags that need this machine.
const LOCAL_FLAGS = ['deltas', 'events', 'lastMessageFile', 'plan', 'resume', 'continue', 'image', 'context'] as const

/** Returns a fault of the flags of a remote run. */
export function findRemoteFault(flags: RemoteFlags & WorkFlags): string | undefined {
  if (!flags.remote) return flags.detach || flags.key !== undefined ? '--detach and --key need --remote.' : undefined
  const wrong = LOCAL_FLAGS.find((name) => name in flags)
  return wrong && `--remote does not support --${wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.`
}

/** Runs a task on another machine, prints its progress, and merges its changes. Returns the exit code. */
export async function runRemotely(
  kernel: Kernel,
  task: string,
  flags: RemoteFlags & WorkFlags,
  io: Io,
  work: (queue: OpenQueue) => Promise<AsyncDisposable | undefined>,
): Promise<number> {
  const fault = findRemoteFault(flags)
  if (fault !== undefined) {
    say(io, 'error', fault)
    return 2
  }
  return withQueue(kernel, io, async (queue) => {
    const { submitRun } = await import('../remote/index.js')
    const payload = omitUndefined({
      prompt: task,
      model: toModelId(flags.model, flags.provider),
      verify: flags.verify,
      max_turns: flags.maxTurns,
      max_budget_usd: flags.maxBudgetUsd,
    }) as Job['payload']
    const mode = kernel.inspection.resolveMode()
    const { job, isNew } = await submitRun(kernel, queue, {
      mode,
      key: flags.key,
      session_id: flags.sessionId,
      payload,
    })
    if (!isNew && !isDeepStrictEqual({ mode, payload }, { mode: job.mode, payload: job.payload })) {
      say(io, 'error', `The key is that of job ${job.job_id} with another task, mode or flags. Use another --key.`)
      return 2
    }
    if (!isNew) say(io, 'info', `The job ${job.job_id} of this key exists already.`)
    if (flags.detach && !queue.isLocal) {
      io.stdout.write(
        flags.json ? formatDocument({ job_id: job.job_id, session_id: job.session_id }) : `${job.job_id}\n`,
      )
      return 0
    }
    await using _ = queue.isLocal ? await work(queue) : undefined
    return await attachRun(kernel, queue, job, flags, io)
  })
}

/** Loads the code for runs on other machines. */
export const loadRemote = () => import('../remote/index.js')

/** Opens the queue for a command; prints its errors. Returns the exit code. */
export async function withQueue(kernel: Kernel, io: Io, use: (queue: OpenQueue) => Promise<number>): Promise<number> {
  const { openQueue } = await import('../../lib/jobs/index.js')
  let queue: OpenQueue | undefined
  try {
    queue = await openQueue(kernel)
    return await use(queue)
  } catch (error) {
    if (io.signal.aborted) return 130
    if (!(error instanceof VtError)) throw error
    say(io, 'error', `${error.code}: ${error.message}\n  ${error.problem.hint}`)
    return error.code === 'VT_QUEUE_SETTINGS' || error.code === 'VT_QUEUE_NO_ENGINE' ? 3 : 1
  } finally {
    await queue?.engine.close().catch(() => {})
  }
}

/** Prints the events of a run until its end, then merges its changes. Returns the exit code. */
export async function attachRun(
  kernel: Kernel,
  queue: OpenQueue,
  job: Job,
  { json }: Pick<WorkFlags, 'json'>,
  io: Io,
): Promise<number> {
  const { collectRun, findAnswer, followRun, waitForRun } = await import('../remote/index.js')
  const show = await chooseSink(json === true, io)
  let answer = ''
  for await (const line of followRun(queue, job, io.signal)) {
    if (line.kind === 'begin' && !json && !io.quiet) say(io, 'info', `Worker ${line.worker} runs the job.`)
    if (line.kind !== 'event') continue
    answer = findAnswer(line.event) ?? answer
    await show(line.event as unknown as Parameters<EventSink>[0])
  }
  const result = await waitForRun(queue, job, io.signal)
  const collected = await collectRun(kernel, queue, job, result, io)
  if (!json && answer !== '') io.stdout.write(`${formatForStdout(io, answer)}\n`)
  reportMerge(collected, job, io)
  return collected.exit_code
}

function reportMerge({ merged, patch_file, problem }: CollectedRun, { session_id }: Job, io: Io): void {
  if (problem)
    say(
      io,
      'error',
      `${problem.code}: ${problem.message}\n  The changes are in ${patch_file}; nothing was merged. ${problem.hint}`,
    )
  else if (!io.quiet)
    say(io, 'info', `${merged.length === 1 ? '1 file' : `${merged.length} files`} merged; session ${session_id}.`)
}

async function chooseSink(json: boolean, io: Io): Promise<EventSink> {
  if (json) return (await import('./streams.js')).createJsonSink(io)
  if (io.quiet) return () => {}
  return (await import('../events/index.js')).createProgressSink(io)
}
