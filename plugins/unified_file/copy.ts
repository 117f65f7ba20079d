import { fail, ok, visibleLine, type Handler } from '../../core/index.js'
import { shortenHash } from '../lib/base/index.js'
import {
  requireFreeName,
  findMissingParents,
  resolveEntry,
  getReads,
  recordChange,
  listStaleNotices,
  requireEntry,
  type Step,
} from '../lib/files/index.js'

interface CopyInput {
  path: string
  destination: string
  recursive: boolean
  overwrite: boolean
}

/** `unified_file/copy`: builds the copy next to the destination, then renames it. */
export default (async (call, context) => {
  const { path: from, destination: to, recursive, overwrite } = call.input
  const { workspace } = context
  await using _ = await workspace.lock([from, to], context.signal)
  const entry = await requireEntry(from, undefined, context)
  if (entry.kind === 'dir' && !recursive) {
    return fail('VT_INPUT_MISSING', `Missing 'recursive': '${from}' is a directory.`, {
      hint: 'Give recursive: true to copy it with everything in it.',
    })
  }
  const there = await requireFreeName(entry, to, overwrite, context)
  const at = resolveEntry(to, context)
  const made = await findMissingParents(at, workspace)
  const size = await workspace.measure(from)
  const { content, changed } = entry
  const step: Step = content
    ? { op: 'write', path: at, ...(there?.content && { before: there.content }), after: content.sha256, made }
    : { op: 'create', path: at, ...size, made }
  const copied = await recordChange(call, context, [step], () =>
    workspace.copy(from, to, { replace: there !== undefined }),
  )
  const { entries, bytes } = copied
  // The session has not seen all of a file that changed.
  if (content && !changed) getReads(context.session).remember(at, { hash: shortenHash(content.sha256) })
  const text = `copied ${visibleLine(from)} -> ${visibleLine(to)} (${entries} ${entries === 1 ? 'entry' : 'entries'})`
  const notices = listStaleNotices(changed)
  return ok(
    { from, to, kind: entry.kind, overwritten: there !== undefined, entries, bytes },
    { text, ...(notices.length > 0 && { notices }) },
  )
}) satisfies Handler<CopyInput>
