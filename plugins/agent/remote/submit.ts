import { createHmac } from 'node:crypto'
import { omitUndefined, type Mode } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { createHiddenFilter, openWorkspace } from '../../../core/workspace/index.js'
import { addSignature, createQueueError, requireSignedJob, type Job, type OpenQueue } from '../../lib/jobs/index.js'
import { createBundle, createWorktree, dropWorktree } from '../../lib/worktrees/index.js'
import { clock, createIdMaker, random } from '../base/index.js'

/** Name of the queue for runs of the agent. */
export const THREAD_QUEUE = 'thread'

export interface NewRun {
  mode: Mode
  payload: Job['payload']
  /** Runs with the same key are one run. */
  key?: string | undefined
  session_id?: string | undefined
}

const KEPT_SHARE = 0.9

/**
 * Queues a run on the present files of the workspace. A copy of these files stays for the merge. Returns the queued job
 * of the same key, if there is one. Throws VT_QUEUE_FULL, VT_QUEUE_TOO_LARGE, VT_AGENT_NO_WORKTREE.
 */
export async function submitRun(kernel: Kernel, queue: OpenQueue, run: NewRun): Promise<{ job: Job; isNew: boolean }> {
  const { engine, secret, settings } = queue
  const session_id = run.session_id ?? createIdMaker(clock, random)('ses')
  const identity = run.key === undefined ? session_id : `${kernel.workspace}\n${run.key}`
  const job_id = `t-${createHmac('sha256', secret).update(`job id\n${identity}`).digest('hex').slice(0, 32)}`
  const known = run.key === undefined ? undefined : await findJob(queue, job_id)
  if (known) return { job: known, isNew: false }
  const { waiting } = await engine.counts(THREAD_QUEUE)
  if (waiting >= settings.max_queue_depth)
    throw createQueueError(
      'VT_QUEUE_FULL',
      `${waiting} jobs wait already; automation.distributed.max_queue_depth is ${settings.max_queue_depth}.`,
      'Try again later, start more workers, or run the task here without --remote.',
      true,
    )
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const isHidden = createHiddenFilter(kernel.settings, workspace)
    const tree = await createWorktree(workspace, { id: session_id, session: session_id, isHidden })
    const bundle = await createBundle(workspace, tree)
    const limit = settings.blob_max_mb * 1024 * 1024
    if (bundle.length > limit) {
      await dropWorktree(workspace, session_id)
      throw createQueueError(
        'VT_QUEUE_TOO_LARGE',
        `The files of the workspace have ${bundle.length} bytes; the limit is ${limit}.`,
        'Raise automation.distributed.blob_max_mb, or add large files to .gitignore.',
      )
    }
    const now = await engine.now()
    const job: Job = addSignature(secret, 'job', {
      v: 1 as const,
      job_id,
      kind: 'thread' as const,
      queue: THREAD_QUEUE,
      prefix: settings.prefix,
      created_at: now,
      // A job cannot be replayed after its result is gone.
      deadline_at: now + Math.floor(settings.result_ttl_secs * 1000 * KEPT_SHARE),
      mode: run.mode,
      session_id,
      files: { commit: tree.commit, bundle: await engine.put(bundle) },
      payload: omitUndefined(run.payload) as Job['payload'],
    })
    const { duplicate } = await engine.enqueue(THREAD_QUEUE, job)
    if (!duplicate) return { job, isNew: true }
    await dropWorktree(workspace, session_id)
    return { job: (await findJob(queue, job_id))!, isNew: false }
  } finally {
    workspace.close()
  }
}

/** Finds a queued job and checks its signature; its deadline may be over. Throws VT_QUEUE_BAD_SIGNATURE. */
export async function findJob({ engine, secret, settings }: OpenQueue, job_id: string): Promise<Job | undefined> {
  const record = await engine.find(THREAD_QUEUE, job_id)
  const place = { secret, now: 0, job_id, queue: THREAD_QUEUE, prefix: settings.prefix }
  return record && requireSignedJob(record.job, place)
}
