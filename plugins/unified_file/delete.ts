import { fail, ok, visibleLine, type Handler, type Notice } from '../../core/index.js'
import { findEntry, createMissingPathError, MAX_KEPT, getReads, recordChange } from '../lib/files/index.js'

interface DeleteInput {
  path: string
  recursive: boolean
  force: boolean
  expected_hash?: string
}

/** `unified_file/delete`: keeps deleted files for undo, unless they are too large. */
export default (async (call, context) => {
  const { path, recursive, force, expected_hash } = call.input
  const { workspace, session } = context
  await using _ = await workspace.lock([path], context.signal)
  const entry = await findEntry(path, expected_hash, context)
  if (!entry) {
    if (!force) throw await createMissingPathError(path, context)
    return ok(
      { path, kind: 'file', deleted: false, entries: 0, skipped: true },
      { text: `nothing to delete at ${visibleLine(path)}` },
    )
  }
  const { entries, bytes } = await workspace.measure(path)
  if (entry.kind === 'dir' && entries > 0 && !recursive) {
    return fail('VT_PATH_NOT_EMPTY', `The directory '${path}' is not empty.`, { details: { entries } })
  }
  const { at, content } = entry
  const notices: Notice[] = []
  if (content)
    await recordChange(call, context, [{ op: 'remove', path: at, before: content }], () => workspace.remove(path))
  else if (entries <= MAX_KEPT.entries && bytes <= MAX_KEPT.bytes) {
    await recordChange(call, context, [{ op: 'take', path: at, bytes }], (folder) =>
      workspace.rename(path, `${folder}/0`, { allowOutsideLink: true }),
    )
  } else {
    await workspace.remove(path, { recursive })
    notices.push({
      code: 'VT_FILE_NOT_KEPT',
      message: `'${path}' was too large to keep; its deletion cannot be undone.`,
    })
  }
  getReads(session).forget(at)
  const text = `deleted ${visibleLine(path)} (${entries} ${entries === 1 ? 'entry' : 'entries'})`
  return ok({ path, kind: entry.kind, deleted: true, entries }, { text, ...(notices.length > 0 && { notices }) })
}) satisfies Handler<DeleteInput>
