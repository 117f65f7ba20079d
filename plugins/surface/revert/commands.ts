import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import {
  openCheckpoints,
  type CheckpointStore,
  type CommandRecord,
  type StateChange,
  type EntryState,
} from '../../lib/checkpoints/index.js'
import { diffTexts, DIFF_LIMITS } from '../../lib/files/index.js'
import { formatColumns, formatDocument, printable, say, toOneLine } from '../../lib/terminal/index.js'

/** The flags of a revert of commands. */
export interface CommandFlags {
  command?: string
  list?: true
  diff?: true
  file?: string
  paths: string[]
  dryRun?: true
  force?: true
  json?: true
}

/** Restores the files from before a command, lists the commands, or shows the changes of a revert. */
export async function revertCommands(kernel: Kernel, flags: CommandFlags, io: Io): Promise<number> {
  const { enabled: _, ...limits } = kernel.settings.checkpoints
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const store = openCheckpoints(workspace.root, workspace.home, limits)
    const all = await store.list()
    if (flags.list) return listCommands(all, flags, io)
    const wanted = flags.command === undefined ? all[0] : all.find(({ id }) => id.startsWith(flags.command!))
    if (!wanted) {
      say(
        io,
        'error',
        all.length === 0 ? NOTHING_TEXT : `Command not found: ${printable(flags.command ?? '')}; ${LIST_TEXT}`,
      )
      return 1
    }
    return await revertCommand(store, workspace, wanted, flags, io)
  } catch (error) {
    say(io, 'error', (error as Error).message)
    return 1
  } finally {
    workspace.close()
  }
}

const NOTHING_TEXT = 'No command has changed files here; there is nothing to revert.'
const LIST_TEXT = '`vtcode revert --list` lists the commands.'

function listCommands(all: readonly CommandRecord[], { json }: CommandFlags, io: Io): number {
  if (json) io.stdout.write(formatDocument(all.map(({ changes, ...rest }) => ({ ...rest, ...countChanges(changes) }))))
  else if (all.length === 0) io.stdout.write(`${NOTHING_TEXT}\n`)
  else
    io.stdout.write(
      formatColumns(
        all.map(({ id, time, command, changes }) => [
          id,
          time,
          describeCounts(changes),
          toOneLine(command).slice(0, 100),
        ]),
      ),
    )
  return 0
}

const countChanges = (changes: readonly StateChange[]) => ({
  added: changes.filter(({ before }) => before === null).length,
  changed: changes.filter(({ before, after }) => before !== null && after !== null).length,
  deleted: changes.filter(({ after }) => after === null).length,
})

function describeCounts(changes: readonly StateChange[]): string {
  const { added, changed, deleted } = countChanges(changes)
  return `+${added} ~${changed} -${deleted}`
}

async function revertCommand(
  store: CheckpointStore,
  workspace: ReturnType<typeof openWorkspace>,
  wanted: CommandRecord,
  { paths: given, file, diff, dryRun, force, json }: CommandFlags,
  io: Io,
): Promise<number> {
  const paths = [...given, ...(file === undefined ? [] : [file])].map((path) => workspace.normalize(path))
  const apply = !diff && !dryRun
  const select = (path: string): boolean =>
    paths.length === 0 || paths.some((one) => one === '.' || path === one || path.startsWith(`${one}/`))
  const plan = await store.revert([wanted], { select, force: force === true, apply, session: wanted.session })
  const isRefused = apply && plan.conflicts.length > 0 && !force
  if (json) io.stdout.write(formatDocument({ command: wanted.id, ...renamePlan(plan), mixed: wanted.mixed }))
  else if (diff) for (const change of plan.changes) io.stdout.write(await renderChange(store, change))
  else if (!isRefused) io.stdout.write(plan.changes.map((change) => `${describeChange(change)}\n`).join(''))
  reportObstacles(plan, wanted, isRefused, io)
  if (!json && !isRefused) say(io, 'info', describeOutcome(plan, wanted))
  return isRefused ? 1 : 0
}

type Plan = Awaited<ReturnType<CheckpointStore['revert']>>

const renamePlan = ({ id, changes, conflicts, skipped }: Plan) => ({
  ...(id !== undefined && { revert: id }),
  changes,
  conflicts,
  skipped,
})

/** Reports which paths stay unchanged, and which changes may be those of others. */
function reportObstacles({ skipped, conflicts }: Plan, { mixed }: CommandRecord, isRefused: boolean, io: Io): void {
  for (const { path, reason } of skipped) say(io, 'warning', `${printable(path)} stays unchanged: ${reason}.`)
  if (mixed.length > 0) say(io, 'warning', `Changes of others may be among these: ${printable(mixed.join('; '))}.`)
  if (conflicts.length === 0) return
  const next = isRefused ? 'Nothing was reverted; --force replaces these and keeps them, --paths names others.' : ''
  const text = `Changed since by somebody else: ${printable(conflicts.join(', '))}. ${next}`
  say(io, isRefused ? 'error' : 'warning', text.trim())
}

function describeOutcome({ id, changes }: Plan, { command }: CommandRecord): string {
  if (id !== undefined)
    return `Reverted: ${toOneLine(command).slice(0, 100)}. \`vtcode revert --command ${id}\` takes that back.`
  return changes.length === 0 ? 'The files are as they were before this command.' : 'Nothing was changed.'
}

function describeChange({ path, before, after }: StateChange): string {
  const what = after === null ? 'remove' : before === null ? 'restore' : 'change back'
  return `${what}  ${printable(path)}`
}

/** Renders the change of a revert like a diff: from the present state to the restored one. */
async function renderChange(store: CheckpointStore, { path, before, after }: StateChange): Promise<string> {
  const [from, to] = [readText(store, before), readText(store, after)]
  const mode =
    before && after && toMode(before) !== toMode(after) ? ` (mode ${toMode(before)} to ${toMode(after)})` : ''
  const head = `${describeChange({ path, before, after })}${mode}\n`
  if (from === to) return head
  const diff = diffTexts(path, Buffer.from(from), Buffer.from(to), DIFF_LIMITS)
  return head + printable(diff ?? 'The files are too large to compare.\n')
}

const toMode = (state: EntryState): string => ('mode' in state ? state.mode.toString(8).padStart(4, '0') : state.kind)

function readText(store: CheckpointStore, state: EntryState | null): string {
  if (state?.kind === 'link') return `link to ${state.target}\n`
  if (state?.kind !== 'file' || state.sha256 === undefined || state.bytes > 1024 * 1024) return ''
  const bytes = store.readContent(state.sha256) ?? Buffer.alloc(0)
  return bytes.includes(0) ? `binary file of ${bytes.length} bytes\n` : bytes.toString()
}
