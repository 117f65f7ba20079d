import type { Command } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import {
  addRemoteOptions,
  addResumeOptions,
  addWorkOptions,
  preview,
  readTask,
  runRemotely,
  startRunWorker,
  work,
  type RemoteFlags,
  type WorkFlags,
} from '../agent/cli/index.js'
import type { OpenQueue } from '../lib/jobs/index.js'
import { runCommand, createVerb } from '../lib/terminal/index.js'

/** `vtcode exec`: runs one task to its outcome. */
export default async function exec(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const perform = async (
    words: readonly string[],
    flags: WorkFlags & RemoteFlags & { dryRun?: true },
  ): Promise<void> => {
    const task = await readTask(words, io)
    if (task === '') command.error('The task is empty. Run vtcode exec "<task>".')
    if (flags.dryRun) code = await preview(kernel, task, flags, io)
    else if (flags.remote || flags.detach || flags.key !== undefined)
      code = await runRemotely(kernel, task, flags, io, startOwnWorker)
    else code = await work(kernel, task, flags, io, { verb: 'exec', surface: 'exec' })
  }
  /** Jobs that stay in this process need a worker here. */
  const startOwnWorker = async (queue: OpenQueue): Promise<AsyncDisposable> => {
    const options = { queue, name: 'here', concurrency: 1, max_mode: kernel.inspection.resolveMode() }
    const worker = await startRunWorker(kernel, io, options)
    return { [Symbol.asyncDispose]: () => worker.stop() }
  }
  const described = createVerb(
    'exec',
    'Work on a task to its end. Prints the answer to stdout and progress to stderr; ' +
      'the exit code is 0 only for a success.',
    io,
  )
  const command = addRemoteOptions(
    addResumeOptions(addWorkOptions(described.argument('[task...]', 'the task; `-` or nothing: from stdin'))),
  )
    .option('--plan', 'write a plan below .vtcode/plans/; change nothing else')
    .option('--dry-run', 'print the request; send nothing')
    .helpCommand(false)
    .action(perform)
  command
    .command('resume [session] [task...]')
    .description('Continue a session.')
    .option('--last', 'the last used session')
    .action(async (session: string | undefined, words: string[], _: object, resume: Command) => {
      const { last, ...flags } = resume.optsWithGlobals<WorkFlags & { last?: true }>()
      if (flags.sessionId !== undefined)
        command.error('--session-id names a new session; a resumed session already has an id.')
      if (last) await perform([...(session === undefined ? [] : [session]), ...words], { ...flags, resume: 'last' })
      else if (session === undefined)
        command.error('No session given. Pass an id or --last; `vtcode sessions list` lists sessions.')
      else await perform(words, { ...flags, resume: session })
    })
  return runCommand(command, argv, () => code)
}
