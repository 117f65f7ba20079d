import type { Command } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import { preview, readTask, withFlags, withResume, work, type Flags } from '../agent/cli/index.js'
import { runCommand, createVerb } from '../lib/terminal/index.js'

/** `vtcode exec`: one task to its outcome. */
export default async function exec(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const perform = async (words: readonly string[], flags: Flags & { dryRun?: true }): Promise<void> => {
    const task = await readTask(words, io)
    if (task === '') command.error('Say what to do: vtcode exec "<task>".')
    code = await (flags.dryRun
      ? preview(kernel, task, flags, io)
      : work(kernel, task, flags, io, { verb: 'exec', surface: 'exec' }))
  }
  const described = createVerb(
    'exec',
    'Works on a task to its end. The answer goes to stdout, what happens to stderr; the exit code is 0 only for a success.',
    io,
  )
  const command = withResume(withFlags(described.argument('[task...]', 'what to do; `-` or nothing: stdin')))
    .option('--plan', 'proposes a plan below .vtcode/plans/; nothing else is changed')
    .option('--dry-run', 'what would be sent; nothing is')
    .helpCommand(false)
    .action(perform)
  command
    .command('resume [session] [task...]')
    .description('continues a session')
    .option('--last', 'the session that was used last')
    .action(async (session: string | undefined, words: string[], _: object, resume: Command) => {
      const { last, ...flags } = resume.optsWithGlobals<Flags & { last?: true }>()
      if (flags.sessionId !== undefined) command.error('--session-id names a new session; this one has an id.')
      if (last) await perform([...(session === undefined ? [] : [session]), ...words], { ...flags, resume: 'last' })
      else if (session === undefined)
        command.error('Say which session: its id, or --last. `vtcode sessions list` shows them.')
      else await perform(words, { ...flags, resume: session })
    })
  return runCommand(command, argv, () => code)
}
