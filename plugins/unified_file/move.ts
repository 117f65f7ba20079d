import { ok, visibleLine, type Handler } from '../../core/index.js'
import {
  requireFreeName,
  findMissingParents,
  resolveEntry,
  getReads,
  recordChange,
  listStaleNotices,
  requireEntry,
} from '../lib/files/index.js'

interface MoveInput {
  path: string
  destination: string
  overwrite: boolean
  expected_hash?: string
}

/** `unified_file/move`: renames a file or directory. */
export default (async (call, context) => {
  const { path: from, destination: to, overwrite, expected_hash } = call.input
  const { workspace } = context
  await using _ = await workspace.lock([from, to], context.signal)
  const entry = await requireEntry(from, expected_hash, context)
  const there = await requireFreeName(entry, to, overwrite, context)
  // A directory in which another file system is mounted cannot be moved.
  await workspace.measure(from)
  const at = resolveEntry(to, context)
  const made = await findMissingParents(at, workspace)
  const step = { op: 'rename' as const, from: entry.at, to: at, ...(there?.content && { before: there.content }), made }
  await recordChange(call, context, [step], () => workspace.rename(from, to, { replace: there !== undefined }))
  const reads = getReads(context.session)
  const lastRead = reads.get(entry.at)
  reads.forget(entry.at)
  reads.forget(at)
  if (lastRead) reads.remember(at, lastRead)
  const notices = listStaleNotices(entry.changed)
  return ok(
    { from, to, kind: entry.kind, overwritten: there !== undefined },
    { text: `moved ${visibleLine(from)} -> ${visibleLine(to)}`, ...(notices.length > 0 && { notices }) },
  )
}) satisfies Handler<MoveInput>
