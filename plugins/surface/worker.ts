import { availableParallelism, hostname } from 'node:os'
import { InvalidArgumentError, Option } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import { startRunWorker, withQueue } from '../agent/cli/index.js'
import type { JobWorker, OpenQueue } from '../lib/jobs/index.js'
import { createVerb, formatDocument, runCommand, say } from '../lib/terminal/index.js'

interface Flags {
  concurrency: number
  name: string
  maxMode: 'plan' | 'ask' | 'auto' | 'full-auto'
  grace: number
  cache?: string
  once?: true
  json?: true
}
const MAX_CONCURRENCY = 8
const POLL_MS = 200

/** Runs `vtcode worker`: works on the jobs of a queue until it is stopped. */
export default async function worker(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'worker',
    'Run the jobs of `vtcode exec --remote` on this machine, with its own settings, keys and policies.',
    io,
  )
    .option('--concurrency <n>', 'jobs at once', parseCount, Math.min(availableParallelism(), MAX_CONCURRENCY))
    .option('--name <id>', 'name of the worker', `${hostname()}-${process.pid}`.replace(/[^\w.-]/g, '_'))
    .addOption(
      new Option('--max-mode <mode>', 'mode of jobs at most')
        .choices(['plan', 'ask', 'auto', 'full-auto'])
        .default('auto'),
    )
    .option('--grace <seconds>', 'time for running jobs after a stop; then another worker takes them', parseSeconds, 30)
    .option('--cache <folder>', 'folder for the files of runs')
    .option('--once', 'end when no job is left')
    .option('--json', 'print the start and the end as lines of JSON')
    .action(async (flags: Flags) => {
      code = await withQueue(kernel, io, (queue) => serve(kernel, io, queue, flags))
    })
  return runCommand(command, argv, () => code)
}

async function serve(kernel: Kernel, io: Io, queue: OpenQueue, flags: Flags): Promise<number> {
  const { name, concurrency, maxMode: max_mode, cache, once, grace } = flags
  const worker = await startRunWorker(kernel, io, { queue, name, concurrency, max_mode, cache })
  const report = (event: string, text: string): void =>
    flags.json ? void io.stdout.write(formatDocument({ event, worker: name })) : say(io, 'info', text)
  report('ready', `Worker ${name} is ready for ${concurrency === 1 ? '1 job' : `${concurrency} jobs`} at once.`)
  if (once) await waitForEmpty(queue, worker, io.signal)
  else await waitForAbort(io.signal)
  if (worker.active > 0) report('draining', `Worker ${name} takes no more jobs; ${worker.active} are running.`)
  const isDone = await Promise.race([
    worker.drain().then(() => true),
    new Promise<false>((resolve) => setTimeout(resolve, grace * 1000, false).unref()),
  ])
  if (!isDone) await worker.stop()
  report('ended', `Worker ${name} has ended.`)
  return 0
}

const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

async function waitForEmpty({ engine }: OpenQueue, worker: JobWorker, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { waiting, active } = await engine.counts('thread')
    if (waiting + active + worker.active === 0) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function parseCount(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1 || value > 64)
    throw new InvalidArgumentError('use a number from 1 to 64.')
  return value
}

function parseSeconds(text: string): number {
  const value = Number(text.replace(/s$/, ''))
  if (!Number.isFinite(value) || value < 0 || value > 86_400)
    throw new InvalidArgumentError('use seconds from 0 to 86400, such as 30s.')
  return value
}
