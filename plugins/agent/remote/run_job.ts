import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined, type JsonObject, type Mode } from '../../../core/shapes/index.js'
import { makeFolder, programFile, writeStateSync } from '../../../core/system/index.js'
import { MODES } from '../../../core/config/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import {
  addSignature,
  createQueueError,
  LineFilter,
  LineWriter,
  requireSignedJob,
  type Job,
  type JobLease,
  type JobRecord,
  type JobResult,
  type OpenQueue,
  type SavedState,
} from '../../lib/jobs/index.js'
import { createJsonLineReader, runProgram } from '../../lib/process/index.js'
import { applyToRun, createPatch, unpackBundle, type RunFolder } from '../../lib/worktrees/index.js'
import { listProviderVariables } from '../providers/index.js'
import { LEASE_VARIABLE, type LeaseState } from '../session/index.js'
import { packSession, unpackSession } from './session_archive.js'

/** The place of a worker, and the limits of its owner. */
export interface RunPlace {
  kernel: Kernel
  queue: OpenQueue
  /** Name of the queue. */
  name: string
  worker: string
  /** Folder for the files of runs. */
  cache: string
  max_mode: Mode
  env: Readonly<Record<string, string | undefined>>
  /** Gets the messages of runs. */
  onMessage?: (text: string) => void
}

/** Time between renewals of the lease file, at least, and as a part of the lease. */
const RENEWALS = { least_ms: 50, share: 0.05 }
/** The clocks of the machines may differ by this. */
const MAX_SKEW_MS = 2 * 3_600_000
const MAX_EVENT_BYTES = 64 * 1024 * 1024
/** Variables with settings that limit what runs may do. */
const RIGHTS_VARIABLE = /^VTCODE__(?:POLICY|SANDBOX|TOOLS|WEB)__/
/** Seconds; the deadline of the job ends a run earlier. */
const MAX_RUN_SECONDS = 7 * 24 * 3600

/** Runs a job in a folder of its own and returns its signed result. Throws VT_QUEUE_BAD_SIGNATURE. */
export async function runJob(place: RunPlace, record: JobRecord, lease: JobLease): Promise<JobResult> {
  const { queue, name } = place
  const { secret, settings, engine } = queue
  // The clock of a server alone could make every old job valid again.
  const now = Math.max(await engine.now(), Date.now() - MAX_SKEW_MS)
  const { job_id } = record
  const job = requireSignedJob(record.job, { secret, now, job_id, queue: name, prefix: settings.prefix })
  const folder = join(place.cache, `${job_id}-${lease.number}`)
  makeFolder(place.cache, 0o700)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  try {
    return await new Run(place, job, lease, folder).perform(now)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

class Run {
  private readonly root: string
  private readonly writer: LineWriter
  private readonly leaseFile: string
  private saved = 0

  constructor(
    private readonly place: RunPlace,
    private readonly job: Job,
    private readonly lease: JobLease,
    folder: string,
  ) {
    this.writer = new LineWriter(place.queue.secret, job.sig, lease)
    this.root = join(folder, 'files')
    this.leaseFile = join(folder, 'lease.json')
  }

  async perform(started_at: number): Promise<JobResult> {
    const { place, job, lease } = this
    const last = await this.findSaved()
    await this.writer.write({ kind: 'begin', worker: place.worker })
    const files = await unpackBundle(this.root, await this.require(job.files.bundle), job.files.commit)
    if (last) await this.restore(files, last)
    const exit_code = await this.runProgram(files, last !== undefined)
    lease.signal.throwIfAborted()
    const state = await this.save(files)
    const ended_at = await place.queue.engine.now()
    const result = { v: 1, job_sig: job.sig, worker: place.worker, lease: lease.number, exit_code, ...state }
    return addSignature(place.queue.secret, 'result', { ...result, started_at, ended_at }) as JobResult
  }

  /** Finds the last state that an earlier lease saved. */
  private async findSaved(): Promise<SavedState | undefined> {
    const { place, job } = this
    const { engine, secret } = place.queue
    const filter = new LineFilter(secret, job.sig)
    let saved: SavedState | undefined
    for (const text of await engine.readLog(place.name, job.job_id)) {
      const line = filter.take(text)
      if (line?.kind === 'saved') saved = line.saved
    }
    return saved
  }

  private async require(sha256: string): Promise<Uint8Array> {
    const bytes = await this.place.queue.engine.get(sha256)
    if (bytes) return bytes
    throw createQueueError(
      'VT_QUEUE_NO_FILES',
      `The files ${sha256.slice(0, 12)} of the job are missing on the server, or changed.`,
      'Run `vtcode exec --remote` again.',
    )
  }

  private async restore(files: RunFolder, { patch, session }: SavedState): Promise<void> {
    if (patch !== undefined) await applyToRun(files, await this.require(patch))
    const workspace = openWorkspace(files.root, this.place.kernel.inspection)
    try {
      await unpackSession(workspace, this.job.session_id, await this.require(session))
    } finally {
      workspace.close()
    }
  }

  /** Stores the state of the run on the server. The run waits meanwhile, so that files and session fit together. */
  private async save(files: RunFolder): Promise<SavedState> {
    const { engine, settings } = this.place.queue
    const store = async (bytes: Buffer): Promise<string> => {
      if (bytes.length > settings.blob_max_mb * 1024 * 1024)
        throw createQueueError(
          'VT_QUEUE_TOO_LARGE',
          `The changes of the run have ${bytes.length} bytes; the limit is ${settings.blob_max_mb} MiB.`,
          'Raise automation.distributed.blob_max_mb, or add large files to .gitignore.',
        )
      return engine.put(bytes)
    }
    const patch = await createPatch(files)
    const session = await store(await packSession(files.root, this.job.session_id))
    return { session, ...(patch && { patch: await store(patch) }) }
  }

  private async runProgram(files: RunFolder, resumes: boolean): Promise<number> {
    const { lease, job } = this
    this.renew()
    const timer = setInterval(
      () => this.renew(),
      Math.max(RENEWALS.least_ms, this.place.queue.settings.lock_ms * RENEWALS.share),
    )
    const seconds = Math.min(MAX_RUN_SECONDS, (job.deadline_at - job.created_at) / 1000)
    let tail: Promise<void> = Promise.resolve()
    const read = createJsonLineReader(MAX_EVENT_BYTES, {
      value: (event) => void (tail = tail.then(() => this.take(files, event as JsonObject))),
      other: () => {},
      tooLong: () => {},
    })
    // The program waits while the server is slow.
    const take = (chunk: Buffer): Promise<void> => (read(chunk), tail)
    try {
      const ended = await runProgram(
        { file: process.execPath, args: this.createArguments(resumes), cwd: files.root, env: this.createEnvironment() },
        { signal: lease.signal, seconds },
        take,
        (chunk) => this.place.onMessage?.(chunk.toString()),
      )
      return ended?.exit_code ?? 1
    } finally {
      clearInterval(timer)
    }
  }

  /** Passes an event on. After each step the state is saved; the run continues when the server has the state. */
  private async take(files: RunFolder, event: JsonObject): Promise<void> {
    await this.writer.write({ kind: 'event', event })
    if (event['type'] !== 'step.completed') return
    await this.writer.write({ kind: 'saved', saved: await this.save(files) })
    this.saved += 1
    this.renew()
  }

  /** Writes the state of the lease for the run, which writes nothing after the end of the lease. */
  private renew(): void {
    const { number, until, signal } = this.lease
    const state: LeaseState = { number, until: signal.aborted ? 0 : until, saved: this.saved }
    writeStateSync(this.leaseFile, JSON.stringify(state))
  }

  private createArguments(resumes: boolean): string[] {
    const { job, place } = this
    const { prompt, model, verify = [], max_turns, max_budget_usd } = job.payload
    const mode = MODES[Math.min(MODES.indexOf(job.mode), MODES.indexOf(place.max_mode))]!
    const flags = [
      '--json',
      ...(model === undefined ? [] : ['--model', model]),
      ...verify.flatMap((command) => ['--verify', command]),
      ...(max_turns === undefined ? [] : ['--max-turns', `${max_turns}`]),
      ...(max_budget_usd === undefined ? [] : ['--max-budget-usd', `${max_budget_usd}`]),
    ]
    const start = [programFile('core/bin.cjs'), '--workspace', this.root, '--mode', mode]
    return resumes
      ? [...start, 'resume', job.session_id, '--continue-turn', ...flags]
      : [...start, 'exec', '--session-id', job.session_id, ...flags, '--', prompt]
  }

  /** Returns the worker's variables for providers and rights. Nothing of the job enters the environment. */
  private createEnvironment(): Record<string, string> {
    const { kernel, env } = this.place
    const rights = Object.keys(env).filter((name) => RIGHTS_VARIABLE.test(name))
    const known = [...listProviderVariables(kernel), ...rights, 'VTCODE_MODEL'].map((name) => [name, env[name]])
    return {
      ...(omitUndefined(Object.fromEntries(known) as object) as Record<string, string>),
      VTCODE_HOME: kernel.inspection.home,
      [LEASE_VARIABLE]: `${this.lease.number}:${this.leaseFile}`,
    }
  }
}
