import { InvalidArgumentError, Option } from 'commander'
import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { printFailure, type RevertScope } from '../agent/cli/index.js'
import { revertCommands, type CommandFlags } from './revert/commands.js'
import { formatDocument, printable, runCommand, say, createVerb } from '../lib/terminal/index.js'

interface Flags extends CommandFlags {
  turn?: number
  session?: string
  last?: true
  scope: RevertScope
}

/** Runs `vtcode revert`: restores the state before a turn of a session. */
export default async function revert(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'revert',
    'Restore the files from before the last command, or before a command or a turn of a session. A revert can be ' +
      'reverted itself.',
    io,
  )
    .option('--command <id>', 'revert this command instead of the last one that changed files')
    .option('--list', 'list the commands that can be reverted, the latest first')
    .option('--diff', 'show the changes of the revert and make none')
    .option('--file <path>', 'only this file or folder')
    .option('--turn <n>', 'the first turn to revert, from 1', parseTurn)
    .option('--session <id>', 'revert this session')
    .option('--last', 'revert the session used last (the default)')
    .addOption(new Option('--scope <scope>').choices(['conversation', 'code', 'both']).default('both'))
    .option('--paths <path...>', 'only these files and folders', [])
    .option('--dry-run', 'list the changes and make none')
    .option('--force', 'also replace files that others changed since')
    .option('--json', 'print one JSON document')
    .action(async (flags: Flags) => {
      const { turn } = flags
      code =
        turn === undefined
          ? await revertCommands(kernel, flags, io)
          : await revertSession(kernel, { ...flags, turn }, io)
    })
  return runCommand(command, argv, () => code)
}

async function revertSession(
  kernel: Kernel,
  { turn, session, scope, paths, dryRun, force, json }: Flags & { turn: number },
  io: Io,
): Promise<number> {
  const { requireOwnSession, findLastSession, revert } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = session ?? (await findLastSession(workspace))
    await requireOwnSession(workspace, id)
    const wanted = {
      turn,
      scope,
      paths: paths.map((path) => workspace.normalize(path)),
      ...(dryRun && { dry_run: true }),
      ...(force && { force: true }),
    }
    const answer = await revert(workspace, id, wanted, Date.now())
    if (json) io.stdout.write(formatDocument(answer))
    else io.stdout.write(answer.reverted.map((path) => `${printable(path)}\n`).join(''))
    if (!json) for (const { path, reason } of answer.skipped) say(io, 'warning', `${path} stays unchanged: ${reason}`)
    if (!json && answer.unrevertable.length > 0)
      say(
        io,
        'warning',
        'Not changed, because they are newer than the turn and unknown to the session: ' +
          `${answer.unrevertable.join(', ')}`,
      )
    if (!json)
      say(
        io,
        'info',
        dryRun
          ? 'Nothing was changed.'
          : `This is turn ${answer.turn} of ${id}; \`vtcode revert --session ${id} --turn ${answer.turn}\` reverts it.`,
      )
    return 0
  } catch (error) {
    return printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

function parseTurn(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('pass the number of a turn, from 1.')
  return Number(text)
}
