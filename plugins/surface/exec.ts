import type { Io, Kernel } from '../../core/index.js'
import { preview } from '../shared/agent/faces/preview.js'
import { readTask } from '../shared/agent/faces/streams.js'
import { withResume } from '../shared/agent/faces/session.js'
import { withFlags, work, type Flags } from '../shared/agent/faces/work.js'
import { say } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

/** `vtcode exec`: one task to its outcome. */
export default async function exec(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const described = verb('exec', 'Works on a task to its end. The answer goes to stdout, what happens to stderr; the exit code is 0 only for a success.', io)
  const command = withResume(withFlags(described.argument('[task...]', 'what to do; `-` or nothing reads it from stdin')))
    .option('--dry-run', 'print what the model would be told, the tools, the limits and the policies; ask and call nothing')
    .action(async (words: string[], flags: Flags & { dryRun?: true }) => {
      const task = await readTask(words, io)
      if (task === '') {
        say(io, 'error', 'Say what to do: vtcode exec "<task>".')
        code = 2
      } else if (flags.dryRun) code = await preview(kernel, task, flags, io)
      else code = await work(kernel, task, flags, io, { verb: 'exec', surface: 'exec' })
    })
  return run(command, spelled(argv), () => code)
}

/** `exec resume <id> "…"` and `exec resume --last "…"` are other words for `--resume`. */
function spelled([first, second, ...rest]: string[]): string[] {
  const words = [first, second].filter((word) => word !== undefined)
  if (first !== 'resume' || second === undefined) return [...words, ...rest]
  if (second === '--last') return ['--resume', 'last', ...rest]
  return second.startsWith('ses_') ? ['--resume', second, ...rest] : [...words, ...rest]
}
