import { ok, type Handler } from '../../core/index.js'
import { freeName, requiredEntry } from '../shared/entry.js'
import { missingParents, recorded } from '../shared/history.js'
import { readsOf } from '../shared/reads.js'

interface MoveInput {
  path: string
  destination: string
  overwrite: boolean
  expected_hash?: string
}

/** `unified_file/move`: one rename. */
export default (async (call, context) => {
  const { path: from, destination: to, overwrite, expected_hash } = call.input
  const { workspace } = context
  await using _ = await workspace.lock([from, to], context.signal)
  const entry = await requiredEntry(from, expected_hash, context)
  const there = await freeName(entry, to, overwrite, context)
  await workspace.measure(from)
  const step = { op: 'rename' as const, from, to, ...(there?.content && { before: there.content }), made: await missingParents(to, workspace) }
  await recorded(call, context, [step], () => workspace.rename(from, to, { replace: there !== undefined }))
  const reads = readsOf(context.session)
  const seen = reads.get(from)
  reads.forget(from)
  if (seen) reads.remember(to, seen.hash, seen.bytes)
  else reads.forget(to)
  return ok({ from, to, kind: entry.kind, overwritten: there !== undefined }, { text: `moved ${from} -> ${to}` })
}) satisfies Handler<MoveInput>
