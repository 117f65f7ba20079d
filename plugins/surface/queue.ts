import { InvalidArgumentError, Option } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import { attachRun, loadRemote, withQueue } from '../agent/cli/index.js'
import { JOB_STATES, type JobRecord, type JobState, type OpenQueue } from '../lib/jobs/index.js'
import {
  createVerb,
  formatColumns,
  formatDocument,
  runCommand,
  say,
  shouldPrintJson,
  toOneLine,
  type OutputForm,
} from '../lib/terminal/index.js'

/** Context of one command. */
interface QueueVerb {
  kernel: Kernel
  io: Io
  queue: OpenQueue
  /** Name of the queue. */
  name: string
}
const MAX_LISTED = 1000

/** Runs `vtcode queue`: shows and controls the jobs of other machines. */
export default async function queue(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('queue', 'Show and control the jobs of `vtcode exec --remote`.', io)
  const run = async (what: (here: QueueVerb) => Promise<number>): Promise<void> => {
    code = await withQueue(kernel, io, async (queue) => {
      const { THREAD_QUEUE: name } = await loadRemote()
      return what({ kernel, io, queue, name })
    })
  }
  const add = (words: string, description: string) =>
    command.command(words).description(description).option('--json').option('--text')
  add('status', 'Count jobs and workers.').action((form: OutputForm) => run((here) => printStatus(here, form)))
  add('jobs', 'List jobs.')
    .addOption(new Option('--state <state>', 'only jobs of this state').choices(JOB_STATES))
    .option('--limit <n>', 'jobs at most', parseLimit, 100)
    .action((form: OutputForm & { state?: JobState; limit: number }) => run((here) => printJobs(here, form)))
  add('show <id>', 'Show a job.').action((id: string, form: OutputForm) => run((here) => printJob(here, id, form)))
  add('follow <id>', 'Print the events of a job to its end; in its workspace, merge its changes.').action(
    (id: string, form: OutputForm) => run((here) => followJob(here, id, form)),
  )
  add('cancel <id>', 'Cancel a waiting or running job.')
    .option('--reason <text>', 'reason, for the record', 'cancelled by a person')
    .action((id: string, form: OutputForm & { reason: string }) => run((here) => cancelJob(here, id, form)))
  add('retry <id>', 'Start a failed job again.').action((id: string, form: OutputForm) =>
    run((here) => retryJob(here, id, form)),
  )
  add('drain', 'Start no waiting job on any worker; `--resume` ends this.')
    .option('--resume', 'start waiting jobs again')
    .action((form: OutputForm & { resume?: true }) => run((here) => drainQueue(here, form)))
  add('workers', 'List workers.').action((form: OutputForm) => run((here) => printWorkers(here, form)))
  return runCommand(command, argv, () => code)
}

function parseLimit(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1 || value > MAX_LISTED)
    throw new InvalidArgumentError(`use a number from 1 to ${MAX_LISTED}.`)
  return value
}

/** Prints a value as JSON, or rows for a person. */
function print({ io }: QueueVerb, form: OutputForm, value: unknown, rows: string[][], none = ''): number {
  const text = rows.length === 0 ? none : formatColumns(rows.map((row) => row.map(toOneLine)))
  io.stdout.write(shouldPrintJson(io, form) ? formatDocument(value) : text)
  return 0
}

async function printStatus(here: QueueVerb, form: OutputForm): Promise<number> {
  const { engine } = here.queue
  const [counts, paused, workers] = await Promise.all([
    engine.counts(here.name),
    engine.isPaused(here.name),
    engine.workers(here.name),
  ])
  const value = { queue: here.name, paused, workers: workers.length, ...counts }
  return print(
    here,
    form,
    value,
    Object.entries(value).map(([key, item]) => [key, `${item}`]),
  )
}

/** Returns the unchecked prompt of a job, for lists. */
const readPrompt = ({ job }: JobRecord): string => {
  const { payload } = (job ?? {}) as { payload?: { prompt?: unknown } }
  return typeof payload?.prompt === 'string' ? payload.prompt.slice(0, 200) : ''
}
const toListed = (record: JobRecord) => ({
  job_id: record.job_id,
  state: record.state,
  starts: record.leases,
  ...(record.reason !== undefined && { reason: record.reason }),
  prompt: readPrompt(record),
})

async function printJobs(
  here: QueueVerb,
  { state, limit, ...form }: OutputForm & { state?: JobState; limit: number },
): Promise<number> {
  const states = state === undefined ? JOB_STATES : [state]
  const found = await Promise.all(states.map((one) => here.queue.engine.list(here.name, one, limit)))
  const jobs = found.flat().slice(0, limit).map(toListed)
  const rows = jobs.map(({ job_id, state, prompt }) => [job_id, state, prompt])
  return print(here, form, jobs, rows, 'There are no jobs.\n')
}

async function printJob(here: QueueVerb, id: string, form: OutputForm): Promise<number> {
  const record = await here.queue.engine.find(here.name, id)
  if (!record) return reportMissing(here, id)
  const value = toListed(record)
  return print(
    here,
    form,
    { ...value, job: record.job, result: record.result },
    Object.entries(value).map(([key, item]) => [key, `${item}`]),
  )
}

async function followJob(here: QueueVerb, id: string, form: OutputForm): Promise<number> {
  const { findJob } = await loadRemote()
  const { kernel, io, queue } = here
  const job = await findJob(queue, id)
  return job
    ? attachRun(kernel, queue, job, shouldPrintJson(io, form) ? { json: true } : {}, io)
    : reportMissing(here, id)
}

async function cancelJob(
  here: QueueVerb,
  id: string,
  { reason, ...form }: OutputForm & { reason: string },
): Promise<number> {
  const cancelled = await here.queue.engine.cancel(here.name, id, reason)
  return cancelled
    ? print(here, form, { cancelled: id }, [[`${id} is cancelled.`]])
    : reportMissing(here, id, 'waiting or running ')
}

async function retryJob(here: QueueVerb, id: string, form: OutputForm): Promise<number> {
  const queued = await here.queue.engine.retry(here.name, id)
  return queued ? print(here, form, { queued: id }, [[`${id} waits again.`]]) : reportMissing(here, id, 'failed ')
}

async function drainQueue(here: QueueVerb, { resume, ...form }: OutputForm & { resume?: true }): Promise<number> {
  await here.queue.engine.setPaused(here.name, resume !== true)
  const text = resume ? 'Waiting jobs are started again.' : 'Running jobs end; waiting jobs are not started.'
  return print(here, form, { paused: resume !== true }, [[text]])
}

async function printWorkers(here: QueueVerb, form: OutputForm): Promise<number> {
  const workers = await here.queue.engine.workers(here.name)
  return print(
    here,
    form,
    workers,
    workers.map(({ name }) => [name]),
    'There are no workers. `vtcode worker` starts one.\n',
  )
}

function reportMissing({ io }: QueueVerb, id: string, kind = ''): number {
  say(
    io,
    'error',
    `VT_QUEUE_NOT_FOUND: There is no ${kind}job '${toOneLine(id)}'.\n  \`vtcode queue jobs\` lists jobs.`,
  )
  return 1
}
