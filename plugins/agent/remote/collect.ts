import { VtError, type JsonObject } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { writeStateSync } from '../../../core/system/index.js'
import { WORKTREES_FOLDER } from '../../../core/trust/index.js'
import { openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import {
  createQueueError,
  LineFilter,
  requireSignedResult,
  type Job,
  type JobLine,
  type JobRecord,
  type JobResult,
  type OpenQueue,
} from '../../lib/jobs/index.js'
import { patchWorktree, dropWorktree, findTreeChanges, findWorktree } from '../../lib/worktrees/index.js'
import { createApprover, isInteractive } from '../../lib/terminal/index.js'
import { isSessionLocked } from '../session/index.js'
import { CALLS_FOLDER, openPrivateFolder } from '../../lib/state/index.js'
import { unpackSession } from './session_archive.js'
import { THREAD_QUEUE } from './submit.js'

/** Yields the lines of a job that count. */
export async function* followRun(
  { engine, secret }: OpenQueue,
  { job_id, sig }: Job,
  signal: AbortSignal,
): AsyncGenerator<JobLine, void, void> {
  const filter = new LineFilter(secret, sig)
  for await (const text of engine.follow(THREAD_QUEUE, job_id, signal)) {
    const line = filter.take(text)
    if (line) yield line
  }
}

/** The end of a run for its owner. */
export interface CollectedRun {
  exit_code: number
  /** Merged paths. */
  merged: string[]
  /** File with the patch, if the changes could not be merged. */
  patch_file?: string
  problem?: { code: string; message: string; hint: string }
}

/** Waits for a run; throws its failure. */
export async function waitForRun(queue: OpenQueue, { job_id, sig }: Job, signal: AbortSignal): Promise<JobResult> {
  const record = await queue.engine.wait(THREAD_QUEUE, job_id, signal)
  if (record.state === 'completed') return requireSignedResult(record.result, queue.secret, sig)
  throw toFailure(record)
}

function toFailure({ job_id, state, reason = '' }: JobRecord): VtError {
  const [, code = 'VT_QUEUE_FAILED', message = reason] = /^(VT_[A-Z_]+): ([^]*)$/.exec(reason) ?? []
  if (state === 'cancelled')
    return createQueueError(
      'VT_QUEUE_CANCELLED',
      `The job ${job_id} was cancelled: ${message || 'no reason'}.`,
      'Run `vtcode exec --remote` again.',
    )
  return createQueueError(
    code as 'VT_QUEUE_LOST',
    `The job ${job_id} failed: ${message}`,
    `\`vtcode queue retry ${job_id}\` starts it again.`,
    true,
  )
}

/**
 * Merges the files of a run into the workspace that submitted the run, under its policies, and adds its session. All
 * files are merged or none; without a merge the patch is kept as a file.
 */
export async function collectRun(
  kernel: Kernel,
  queue: OpenQueue,
  job: Job,
  result: JobResult,
  io: Io,
): Promise<CollectedRun> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const { session_id } = job
  try {
    await addSession(workspace, queue, session_id, result)
    if (result.patch === undefined || !(await findWorktree(workspace, session_id))) {
      await dropWorktree(workspace, session_id)
      return { exit_code: result.exit_code, merged: [] }
    }
    const patch = await requireBlob(queue, result.patch)
    const failure = await merge(kernel, workspace, session_id, patch, io)
    if (!('problem' in failure)) {
      await dropWorktree(workspace, session_id)
      return { exit_code: result.exit_code, merged: failure.merged }
    }
    const patch_file = await keepPatch(workspace, session_id, patch)
    return { exit_code: 1, merged: [], patch_file, problem: failure.problem }
  } finally {
    workspace.close()
  }
}

/** Writes a patch that could not be merged next to the worktrees, and returns its path. */
async function keepPatch(workspace: Workspace, session_id: string, patch: Buffer): Promise<string> {
  const folder = await openPrivateFolder(workspace, WORKTREES_FOLDER)
  try {
    writeStateSync(`${folder.ref}/${session_id}.patch`, patch)
  } finally {
    await folder.close()
  }
  return `${WORKTREES_FOLDER}/${session_id}.patch`
}

type Merged = { merged: string[] } | { problem: NonNullable<CollectedRun['problem']> }

async function merge(kernel: Kernel, workspace: Workspace, session_id: string, patch: Buffer, io: Io): Promise<Merged> {
  const tree = (await findWorktree(workspace, session_id))!
  // A run that is collected again finds the changes in the copy.
  if ((await findTreeChanges(workspace, tree)).length === 0) await patchWorktree(workspace, tree, patch)
  const paths = (await findTreeChanges(workspace, tree)).map(({ path }) => path)
  if (paths.length === 0) return { merged: [] }
  const result = await kernel.call(
    'agents',
    { action: 'merge', worktree: session_id, paths },
    {
      session: session_id,
      surface: 'exec',
      audiences: ['agent', 'delegation'],
      signal: io.signal,
      ...(isInteractive(io) && { approve: createApprover(io) }),
    },
  )
  if (result.ok) return { merged: paths }
  const { code, message, hint } = result.error
  return { problem: { code, message, hint } }
}

async function addSession(
  workspace: Workspace,
  queue: OpenQueue,
  session_id: string,
  { session }: JobResult,
): Promise<void> {
  const path = `${CALLS_FOLDER}/${session_id}`
  if (session === undefined || (await isSessionLocked(workspace, path))) return
  if (await workspace.stat(`${path}/messages.jsonl`)) return
  await unpackSession(workspace, session_id, await requireBlob(queue, session))
}

async function requireBlob({ engine }: OpenQueue, sha256: string): Promise<Buffer> {
  const bytes = await engine.get(sha256)
  if (bytes) return Buffer.from(bytes)
  throw createQueueError(
    'VT_QUEUE_NO_FILES',
    `The result ${sha256.slice(0, 12)} of the run is missing on the server, or changed.`,
    'Raise automation.distributed.result_ttl_secs, and run the task again.',
  )
}

/** Returns the text of the answer from the last event of a run. */
export const findAnswer = (event: JsonObject): string | undefined =>
  event['type'] === 'thread.completed' && typeof event['result'] === 'string' ? event['result'] : undefined
