import type { Context, Notice, VtError } from '../../../core/index.js'
import { notice, pluralize, createSlotError, formatNames } from '../../lib/base/index.js'
import { FileSnapshots, type WatchedChange } from '../../lib/snapshots/index.js'
import { listFiles, statEntries } from '../../lib/search/index.js'

/** The files copied before a command, and its changes to them once it has ended. */
export interface CommandCheckpoint {
  files: number
  /** Set when every file that is not ignored was copied. */
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
  const newest = await selectNewest(context, there.files)
  const { watched, compare } = await snapshots.copyFiles(newest)
  if (newest.length > 0 && watched === 0) throw createCheckpointError()
  const checkpoint: CommandCheckpoint = {
    files: watched,
    complete: there.complete && watched === there.files.length,
    changed: [],
  }
  const known = new Set(there.files)
  return {
    checkpoint,
    async after() {
      const made = there.complete ? (await listCopyableFiles(context)).files.filter((path) => !known.has(path)) : []
      checkpoint.changed = await compare(id, made)
      return [createNotice(checkpoint)]
    },
  }
}

async function listCopyableFiles(context: Context): Promise<{ files: string[]; complete: boolean }> {
  // The command may outlive the call that started it.
  const lasting = Object.create(context, { signal: { value: new AbortController().signal } }) as Context
  await using folder = await context.workspace.openDirectory('.')
  const { files, incomplete } = await listFiles(lasting, folder, { include_hidden: true })
  return { files: files.filter((path) => !/^\.vtcode\/|(^|\/)\.git\//.test(path)), complete: !incomplete }
}

/** Selects the files written last, because they may not be in any history yet. */
async function selectNewest(context: Context, files: string[]): Promise<string[]> {
  const entries = await statEntries(context, files)
  const found = files.flatMap((path) => {
    const entry = entries.get(path)
    return entry?.kind === 'file' ? [{ path, bytes: entry.bytes, at: entry.mtime_ms }] : []
  })
  let bytes = 0
  return found
    .sort((a, b) => b.at - a.at)
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
