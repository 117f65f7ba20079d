import { InvalidArgumentError, Option } from 'commander'
import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { printFailure, type RevertScope } from '../agent/cli/index.js'
import { formatDocument, printable, runCommand, say, createVerb } from '../lib/terminal/index.js'

interface Flags {
  turn: number
  session?: string
  last?: true
  scope: RevertScope
  paths: string[]
  dryRun?: true
  force?: true
  json?: true
}

/** `vtcode revert`: back to what was before a turn of a session. */
export default async function revert(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'revert',
    'Restores what was before a turn of a session: files, conversation or both. The revert is a turn itself and can be reverted.',
    io,
  )
    .requiredOption('--turn <n>', 'the first turn to take back, from 1', count)
    .option('--session <id>', 'of this session')
    .option('--last', 'of the session that was used last (the default)')
    .addOption(new Option('--scope <scope>').choices(['conversation', 'code', 'both']).default('both'))
    .option('--paths <path...>', 'only these files and folders', [])
    .option('--dry-run', 'only say what would change')
    .option('--force', 'replace what others changed since, too')
    .option('--json', 'print the answer as JSON')
    .action(async (flags: Flags) => {
      code = await back(kernel, flags, io)
    })
  return runCommand(command, argv, () => code)
}

async function back(
  kernel: Kernel,
  { turn, session, scope, paths, dryRun, force, json }: Flags,
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
    if (!json) for (const { path, reason } of answer.skipped) say(io, 'warning', `${path} stays as it is: ${reason}`)
    if (!json && answer.unrevertable.length > 0)
      say(
        io,
        'warning',
        `Younger than the turn and not known to the session, so not changed: ${answer.unrevertable.join(', ')}`,
      )
    if (!json)
      say(
        io,
        'info',
        dryRun
          ? 'Nothing was changed.'
          : `This is turn ${answer.turn} of ${id}; \`vtcode revert --session ${id} --turn ${answer.turn}\` takes it back.`,
      )
    return 0
  } catch (error) {
    return printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

function count(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('a turn is a number from 1.')
  return Number(text)
}
