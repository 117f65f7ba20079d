import type { Approval, Kernel } from '../../../core/contract/index.js'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { openWorkspace } from '../../../core/workspace/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { countChangedLines, diffTexts } from '../files/index.js'
import { listDeletedTree } from './delete_tree.js'
import { formatAction } from './format_action.js'
import { buildIntendedDiff, planFileChanges, type PlannedFile } from './intended_change.js'

/** The largest file that is compared, in bytes. */
const MAX_BYTES = 1024 * 1024
const DIFF_LIMITS = { lines: 2000, bytes: 128 * 1024 }

/** Description of a call for the person who approves it. */
export interface Intent {
  /** "Edit src/a.js? (+1 −1)", "Run npm test?", "Delete lib? (3 entries, 3.0 KiB)", else "Call tool/action?". */
  title: string
  /** The command line. */
  command?: string
  /** Facts about the call, one line each, such as the folder of a command. */
  notes: string[]
  /** The unified diff against the files on the disk, or the change as the call gives it. */
  diff?: string
  /** Everything that a delete removes. */
  tree?: string[]
  /** Names of the input fields that the other members show. */
  shown: ReadonlySet<string>
}

/** Describes what a call would do: the files as they would change, the tree that it deletes, its command or address. */
export async function describeIntent(kernel: Kernel, { slot, input }: Approval['call']): Promise<Intent> {
  const fields: JsonObject = isObject(input) ? input : {}
  const action = formatAction(slot, fields)
  const title = `${action ?? `Call ${slot}`}?`
  if (slot === 'unified_file/delete') return describeDelete(kernel, fields, title)
  if (slot === 'unified_exec/run') return describeCommand(fields, title)
  const files = await planFileChanges(kernel, slot, fields, MAX_BYTES)
  if (files) return describeFiles(files, title)
  const diff = buildIntendedDiff(fields)
  const { command, url } = fields
  return {
    title: diff !== undefined && action !== undefined ? `${title} (${formatDiffCounts(diff)})` : title,
    ...(command !== undefined && { command: toCommandLine(command) }),
    notes: typeof url === 'string' ? [`address: ${truncateLine(url, 2000)}`] : [],
    ...(diff !== undefined && { diff }),
    shown: new Set(['command', ...(typeof url === 'string' ? ['url'] : []), ...listDiffFields(fields, diff)]),
  }
}

const CHANGE_FIELDS = ['old_str', 'new_str', 'edits', 'patch', 'input', 'content', 'replace_all']
/** Lists the fields that a diff made of the input contains, and no other one. */
function listDiffFields({ old_str, edits, patch, input, content }: JsonObject, diff: string | undefined): string[] {
  if (diff === undefined) return []
  if (typeof old_str === 'string') return ['old_str', 'new_str']
  if (Array.isArray(edits)) return diff !== '' && edits.every(isPlainEdit) ? ['edits'] : []
  if (patch === diff) return ['patch']
  return input === diff ? ['input'] : typeof content === 'string' ? ['content'] : []
}
/** Returns whether a diff of an edit contains all of its fields. */
const isPlainEdit = (edit: unknown): boolean =>
  isObject(edit) && Object.keys(edit).every((name) => ['old_str', 'new_str', 'replace_all'].includes(name))
const toCommandLine = (command: unknown): string =>
  Array.isArray(command) ? command.join(' ') : typeof command === 'string' ? command : JSON.stringify(command)

function describeCommand({ command, args, workdir, cwd }: JsonObject, title: string): Intent {
  const folder = workdir ?? cwd
  return {
    title: typeof command === 'string' ? `Run \`${truncateLine(command, 80)}\`?` : title,
    command: toCommandLine(Array.isArray(args) ? [command, args].flat() : command),
    notes: [`folder: ${typeof folder === 'string' && folder !== '.' ? truncateLine(folder, 400) : 'the workspace'}`],
    shown: new Set(['command', 'args', 'workdir', 'cwd']),
  }
}

async function describeDelete(kernel: Kernel, { path }: JsonObject, title: string): Promise<Intent> {
  const shown = new Set(['path', 'recursive'])
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const tree = typeof path === 'string' ? await listDeletedTree(workspace, path) : undefined
    if (!tree) return { title, notes: ['nothing is there'], shown }
    return { title: `${title} (${tree.summary})`, notes: [], tree: tree.rows, shown }
  } catch (error) {
    return { title, notes: [`the entries cannot be listed: ${truncateLine((error as Error).message, 200)}`], shown }
  } finally {
    workspace.close()
  }
}

function describeFiles(files: readonly PlannedFile[], title: string): Intent {
  const diffs: string[] = []
  let [added, removed, replaced] = [0, 0, 0]
  for (const { path, before = '', after = '', replaced: places = 0 } of files) {
    const texts = [Buffer.from(before), Buffer.from(after)] as const
    const counts = countChangedLines(...texts)
    added += counts?.added ?? 0
    removed += counts?.removed ?? 0
    replaced += places
    diffs.push(diffTexts(path, ...texts, DIFF_LIMITS) ?? `${path}: too many changes to compare`)
  }
  const isEmpty = files.every(({ before, after }) => before === after)
  const notes = files.flatMap((file) => file.notes ?? [])
  return {
    title: `${title} (+${added} −${removed})`,
    notes: [
      ...(replaced > 0 ? [`replaces ${replaced} ${replaced === 1 ? 'place' : 'places'}`] : []),
      ...(files.length > 1 ? [`${files.length} files`] : []),
      ...notes.map((note) => truncateLine(note, 400)),
      ...(isEmpty && notes.length === 0 ? ['changes nothing'] : []),
    ],
    diff: isEmpty ? '' : diffs.join(''),
    shown: new Set(['path', 'mode', 'overwrite', ...CHANGE_FIELDS]),
  }
}

const countLines = (text: string, mark: RegExp): number => text.split('\n').filter((line) => mark.test(line)).length
/** Counts the added and removed lines of a diff: "+2 −1". */
export const formatDiffCounts = (diff: string): string =>
  `+${countLines(diff, /^\+(?!\+\+ )/)} −${countLines(diff, /^-(?!-- )/)}`
