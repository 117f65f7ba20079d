import { VtError, type Call, type Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { contentHash, short } from '../base/index.js'
import { missingParents, recorded } from './history.js'
import { readsOf } from './reads.js'
import { lossNotices, readOf, type FileTarget } from './target.js'

export interface Replaced {
  resolved: string
  hash: string
  notices: Notice[]
}

/** Puts new content in the place of a file as it was loaded (or of none), kept for undo and remembered as this session's own. */
export async function replace(
  call: Call<any>,
  context: Context,
  path: string,
  target: FileTarget | undefined,
  bytes: Buffer,
): Promise<Replaced> {
  const { workspace, session } = context
  const after = contentHash(bytes)
  const before = target && { sha256: target.version.sha256, mode: target.version.stat.mode, bytes: target.bytes.length }
  const at = target?.resolved ?? workspace.resolve(path)
  const made = target ? [] : await missingParents(at, workspace)
  const step = { op: 'write' as const, path: at, ...(before && { before }), after, made }
  try {
    const written = await recorded(call, context, [step], () =>
      workspace.write(path, bytes, target?.version ?? 'nothing'),
    )
    const { resolved, stat, lost } = written
    readsOf(session).remember(resolved, { hash: short(after), stat, bytes })
    return { resolved, hash: short(after), notices: lossNotices(path, lost) }
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_FILE_STALE') throw error
    const read_hash = target && short(target.version.sha256)
    throw new VtError({ ...error.problem, details: { path, disk_hash: null, read_hash }, next: readOf(path) })
  }
}
