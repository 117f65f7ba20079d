import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { dropForeign, explainError, undo as putBack, listUndoable, type Undoable } from '../lib/files/index.js'
import { formatColumns, toOneLine, printable, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** `vtcode undo`: takes the latest change back, again and again, or the one that is named; of any session. */
export default async function undo(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('undo', 'Puts back what the last changing call replaced.', io)
    .argument('[number]', 'which change, as --list counts them', '1')
    .option('--list', 'only show what can be undone, the latest first')
    .action(async (number: string, { list }: { list?: true }) => {
      const workspace = openWorkspace(kernel.workspace, kernel.inspection)
      try {
        await dropForeign(workspace)
        const all = await listUndoable(workspace)
        const wanted = /^\d+$/.test(number) ? all[Number(number) - 1] : undefined
        if (list)
          io.stdout.write(
            all.length > 0 ? formatColumns(all.map((one, index) => [`${index + 1}`, ...row(one)])) : `${nothing}\n`,
          )
        else if (wanted) {
          await putBack(workspace, wanted)
          io.stdout.write(`Undone: ${row(wanted).map(toOneLine).join('  ')}\n`)
        } else {
          say(
            io,
            'error',
            all.length > 0
              ? `Change not found: ${printable(number)}; \`vtcode undo --list\` shows ${all.length}.`
              : nothing,
          )
          code = 1
        }
      } catch (error) {
        say(io, 'error', explainError(error))
        code = 1
      } finally {
        workspace.close()
      }
    })
  return runCommand(command, argv, () => code)
}

const nothing = 'There is nothing to undo.'

const row = ({ checkpoint: { time, slot, steps } }: Undoable): string[] => {
  const paths = steps.map((step) => ('path' in step ? step.path : `${step.from} -> ${step.to}`))
  return [time, slot, paths.join(', ')]
}
