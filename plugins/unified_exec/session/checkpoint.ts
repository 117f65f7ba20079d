import type { Context, Notice, VtError } from '../../../core/index.js'
import { notice, pluralize, createSlotError, formatNames } from '../../lib/base/index.js'
import { FileSnapshots, type WatchedChange } from '../../lib/snapshots/index.js'
import { statEntries, walkEntries } from '../../lib/search/index.js'

/** The files copied before a command, and its changes to them once it has ended. */
export interface CommandCheckpoint {
  files: number
  /** Set when every file on disk was copied, but for those of git and of this program. */
  complete: boolean
  changed: WatchedChange[]
}

const LIMITS = { files: 2000, bytes: 64 * 1024 * 1024 }

/**
 * Copies the files of the workspace before a command without approval. `after` keeps its changes for undo and reports
 * them.
 */
export async function createCheckpoint(
  context: Context,
  id: string,
): Promise<{ checkpoint: CommandCheckpoint; after(): Promise<Notice[]> }> {
  const { session, workspace } = context
  const snapshots = session.state('exec/snapshots', () => {
    const made = new FileSnapshots(workspace, session.id, 'run')
    session.onClose(() => made.close())
    return made
  })
  const there = await listCopyableFiles(context)
  const newest = await selectNewest(context, there.files, there.left_out)
  const { watched, compare } = await snapshots.copyFiles(newest)
  if (newest.length > 0 && watched === 0) throw createCheckpointError()
  const checkpoint: CommandCheckpoint = {
    files: watched,
    complete: there.whole && watched === there.files.length + there.left_out.length,
    changed: [],
  }
  const known = new Set(there.files)
  return {
    checkpoint,
    async after() {
      const made = there.listed ? (await listCopyableFiles(context)).files.filter((path) => !known.has(path)) : []
      checkpoint.changed = await compare(id, made)
      return [createNotice(checkpoint)]
    },
  }
}

interface CopyableFiles {
  files: string[]
  /** Files that a search leaves out by ignore rules. */
  left_out: string[]
  /** The walk came to its end. */
  listed: boolean
  /** The walk also left out no folder such as node_modules. */
  whole: boolean
}

/** Lists what is on disk: a command removes ignored files too. */
async function listCopyableFiles(context: Context): Promise<CopyableFiles> {
  // The command may outlive the call that started it.
  const lasting = Object.create(context, { signal: { value: new AbortController().signal } }) as Context
  await using folder = await context.workspace.openDirectory('.')
  const { entries, incomplete, excluded } = await walkEntries(
    lasting,
    folder,
    { include_hidden: true },
    { scope: 'marked' },
  )
  const found = entries.filter(({ path, kind }) => kind === 'file' && !/^\.vtcode\/|(^|\/)\.git\//.test(path))
  const select = (isLeftOut: boolean): string[] =>
    found.flatMap(({ path, left_out }) => ((left_out !== undefined) === isLeftOut ? [path] : []))
  return {
    files: select(false),
    left_out: select(true),
    listed: !incomplete,
    whole: !incomplete && [...excluded].every((name) => name === '.git' || name === '.vtcode'),
  }
}

/**
 * Selects the files written last, because they may not be in any history yet. Those that a search leaves out come
 * after all others, because they are mostly built from them.
 */
async function selectNewest(context: Context, files: string[], left_out: string[]): Promise<string[]> {
  const all = [...files, ...left_out]
  const entries = await statEntries(context, all)
  const found = all.flatMap((path, index) => {
    const entry = entries.get(path)
    return entry?.kind === 'file'
      ? [{ path, bytes: entry.bytes, at: entry.mtime_ms, isLeftOut: index >= files.length }]
      : []
  })
  let bytes = 0
  return found
    .sort((a, b) => Number(a.isLeftOut) - Number(b.isLeftOut) || b.at - a.at)
    .slice(0, LIMITS.files)
    .flatMap(({ path, bytes: size }) => ((bytes += size) > LIMITS.bytes ? [] : [path]))
}

function createNotice({ files, complete, changed }: CommandCheckpoint): Notice {
  const kept = `${pluralize(files, 'file', 'files')} copied before it${complete ? '' : ', not all of them'}`
  const what =
    changed.length === 0
      ? 'it changed none of them'
      : `it changed ${formatNames(changed.map(({ path }) => path))}, which \`vtcode undo\` can restore`
  return notice(
    'VT_EXEC_SANDBOXED',
    `The command ran without approval (policy.sandboxed_commands), in the sandbox, without network, ` +
      `writing only the workspace; ${kept}; ${what}.`,
  )
}

const createCheckpointError = (): VtError =>
  createSlotError('VT_EXEC_SANDBOX', 'No checkpoint can be written, so the command needs approval.', {
    hint: 'Nothing was run. Give {field:sandbox_permissions}: use_default to ask the user.',
  })
