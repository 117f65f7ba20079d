import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { columns, printable, say } from '../shared/terminal.js'
import { explained, undo as putBack, undoable, type Undoable } from '../shared/undo.js'
import { run, verb } from '../shared/verbs.js'

/** `vtcode undo`: takes the latest change back, again and again; of any session. */
export default async function undo(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('undo', 'Puts back what the last changing call replaced.', io)
    .option('--list', 'only show what can be undone, the latest first')
    .action(async ({ list }: { list?: true }) => {
      const workspace = openWorkspace(kernel.workspace)
      try {
        const all = await undoable(workspace)
        if (list) io.stdout.write(all.length > 0 ? columns(all.map(row)) : 'There is nothing to undo.\n')
        else if (all[0]) {
          await putBack(workspace, all[0])
          io.stdout.write(`Undone: ${row(all[0]).join('  ')}\n`)
        } else {
          say(io, 'error', 'There is nothing to undo.')
          code = 1
        }
      } catch (error) {
        say(io, 'error', explained(error))
        code = 1
      } finally {
        workspace.close()
      }
    })
  return run(command, argv, () => code)
}

const row = ({ checkpoint: { time, slot, steps } }: Undoable): string[] => {
  const paths = steps.map((step) => ('path' in step ? step.path : `${step.from} -> ${step.to}`))
  return [time, slot, paths.join(', ')].map(printable)
}
