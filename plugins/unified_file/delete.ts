import { fail, ok, problem, type Handler } from '../../core/index.js'
import { entryAt, refuseRoot } from '../shared/entry.js'
import { mostKept, recorded } from '../shared/history.js'
import { readsOf } from '../shared/reads.js'

interface DeleteInput {
  path: string
  recursive: boolean
  force: boolean
  expected_hash?: string
}

/** `unified_file/delete`: what is deleted is kept for undo, unless it is too large. */
export default (async (call, context) => {
  const { path, recursive, force, expected_hash } = call.input
  const { workspace, session } = context
  refuseRoot(path)
  await using _ = await workspace.lock([path], context.signal)
  const entry = await entryAt(path, expected_hash, context)
  if (!entry) {
    if (force) return ok({ path, kind: 'file', deleted: false, entries: 0, skipped: true }, { text: `nothing to delete at ${path}` })
    throw problem('VT_PATH_NOT_FOUND', { path }, { next: { tool: 'unified_search', input: { action: 'list', path: parentOf(path) } } })
  }
  const { entries, bytes } = await workspace.measure(path)
  if (entry.kind === 'dir' && entries > 0 && !recursive) {
    return fail('VT_PATH_NOT_EMPTY', `The directory '${path}' is not empty.`, { details: { entries } })
  }
  if (entry.content) await recorded(call, context, [{ op: 'remove', path, before: entry.content }], () => workspace.remove(path))
  else if (entries > mostKept.entries || bytes > mostKept.bytes) await workspace.remove(path, { recursive })
  else await recorded(call, context, [{ op: 'take', path, bytes }], (folder) => workspace.rename(path, `${folder}/0`))
  readsOf(session).forget(path)
  return ok({ path, kind: entry.kind, deleted: true, entries }, { text: `deleted ${path} (${entries} ${entries === 1 ? 'entry' : 'entries'})` })
}) satisfies Handler<DeleteInput>

const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
