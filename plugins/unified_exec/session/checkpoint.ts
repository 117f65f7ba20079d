import type { Context, Notice, VtError } from '../../../core/index.js'
import { notice, pluralize, createSlotError, some } from '../../lib/base/index.js'
import { FileSnapshots, type WatchedChange } from '../../lib/snapshots/index.js'
import { listFiles, statEntries } from '../../lib/search/index.js'

/** What was copied before a command, and, once it has ended, what it changed of that. */
export interface CommandCheckpoint {
  files: number
  /** Every file of the workspace that is not ignored. */
  complete: boolean
  changed: WatchedChange[]
}

const most = { files: 2000, bytes: 64 * 1024 * 1024 }

/** Copies the files of the workspace before a command that nobody was asked about; `after` keeps what it changed for undo, and tells it. */
export async function checkpointBefore(
  context: Context,
  id: string,
): Promise<{ checkpoint: CommandCheckpoint; after(): Promise<Notice[]> }> {
  const { session, workspace } = context
  const snapshots = session.state('exec/snapshots', () => {
    const made = new FileSnapshots(workspace, session.id, 'run')
    session.onClose(() => made.close())
    return made
  })
  const there = await filesOf(context)
  const newest = await newestOf(context, there.files)
  const { watched, compare } = await snapshots.before(newest)
  if (newest.length > 0 && watched === 0) throw withoutCopies()
  const checkpoint: CommandCheckpoint = {
    files: watched,
    complete: there.complete && watched === there.files.length,
    changed: [],
  }
  const known = new Set(there.files)
  return {
    checkpoint,
    async after() {
      const made = there.complete ? (await filesOf(context)).files.filter((path) => !known.has(path)) : []
      checkpoint.changed = await compare(id, made)
      return [told(checkpoint)]
    },
  }
}

async function filesOf(context: Context): Promise<{ files: string[]; complete: boolean }> {
  // A command may end long after the call that started it.
  const lasting = Object.create(context, { signal: { value: new AbortController().signal } }) as Context
  await using folder = await context.workspace.openDirectory('.')
  const { files, incomplete } = await listFiles(lasting, folder, { include_hidden: true })
  return { files: files.filter((path) => !/^\.vtcode\/|(^|\/)\.git\//.test(path)), complete: !incomplete }
}

/** Those that were written last: what is in no history yet is among them. */
async function newestOf(context: Context, files: string[]): Promise<string[]> {
  const entries = await statEntries(context, files)
  const found = files.flatMap((path) => {
    const entry = entries.get(path)
    return entry?.kind === 'file' ? [{ path, bytes: entry.bytes, at: entry.mtime_ms }] : []
  })
  let bytes = 0
  return found
    .sort((a, b) => b.at - a.at)
    .slice(0, most.files)
    .flatMap(({ path, bytes: size }) => ((bytes += size) > most.bytes ? [] : [path]))
}

function told({ files, complete, changed }: CommandCheckpoint): Notice {
  const kept = `${pluralize(files, 'file', 'files')} copied before it${complete ? '' : ', not all there are'}`
  const what =
    changed.length === 0
      ? 'it changed none that is not ignored'
      : `it changed ${some(changed.map(({ path }) => path))}, which \`vtcode undo\` takes back`
  return notice(
    'VT_EXEC_SANDBOXED',
    `Nobody was asked: it ran in the sandbox, without network, with the workspace alone to write (policy.sandboxed_commands); ${kept}; ${what}.`,
  )
}

const withoutCopies = (): VtError =>
  createSlotError(
    'VT_EXEC_SANDBOX',
    'No checkpoint can be kept here, so no command runs without the user being asked.',
    {
      hint: 'Nothing was run. Give {field:sandbox_permissions}: use_default, so that the user is asked.',
    },
  )
