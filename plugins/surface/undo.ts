import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { dropForeign, explainError, undo as putBack, listUndoable, type Undoable } from '../lib/files/index.js'
import { formatColumns, toOneLine, printable, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** Runs `vtcode undo`: undoes the latest change, or the numbered one, of any session. */
export default async function undo(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('undo', 'Undo the last call that changed files.', io)
    .argument('[number]', 'the number of a change in --list', '1')
    .option('--list', 'list the changes, the latest first, and undo none')
    .action(async (number: string, { list }: { list?: true }) => {
      const workspace = openWorkspace(kernel.workspace, kernel.inspection)
      try {
        await dropForeign(workspace)
        const all = await listUndoable(workspace)
        const wanted = /^\d+$/.test(number) ? all[Number(number) - 1] : undefined
        if (list)
          io.stdout.write(
            all.length > 0
              ? formatColumns(all.map((one, index) => [`${index + 1}`, ...toRow(one)]))
              : `${NOTHING_TEXT}\n`,
          )
        else if (wanted) {
          await putBack(workspace, wanted)
          io.stdout.write(`Undone: ${toRow(wanted).map(toOneLine).join('  ')}\n`)
        } else {
          say(
            io,
            'error',
            all.length > 0
              ? `Change not found: ${printable(number)}; \`vtcode undo --list\` lists ${all.length}.`
              : NOTHING_TEXT,
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

const NOTHING_TEXT = 'There is nothing to undo.'

const toRow = ({ checkpoint: { time, slot, steps } }: Undoable): string[] => {
  const paths = steps.map((step) => ('path' in step ? step.path : `${step.from} -> ${step.to}`))
  return [time, slot, paths.join(', ')]
}
