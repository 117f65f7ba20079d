import { VtError, type Call, type Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { contentHash, shortenHash } from '../base/index.js'
import type { StaleFile } from './stale_file.js'
import { findMissingParents, recordChange } from './history.js'
import { getReads } from './reads.js'
import { createReadCall } from './read_call.js'
import { lossNotices, type FileTarget } from './target.js'

export interface ReplacedFile {
  resolved: string
  hash: string
  notices: Notice[]
}

/**
 * Writes new content over a loaded file, or creates the file. Keeps the old content for undo. Remembers the new version
 * for this session, unless the caller has not seen all changes of others in it.
 */
export async function replaceFile(
  call: Call<any>,
  context: Context,
  path: string,
  target: FileTarget | undefined,
  bytes: Buffer,
  changed?: StaleFile,
): Promise<ReplacedFile> {
  const { workspace, session } = context
  const after = contentHash(bytes)
  const before = target && { sha256: target.version.sha256, mode: target.version.stat.mode, bytes: target.bytes.length }
  const at = target?.resolved ?? workspace.resolve(path)
  const made = target ? [] : await findMissingParents(at, workspace)
  const step = { op: 'write' as const, path: at, ...(before && { before }), after, made }
  try {
    const written = await recordChange(call, context, [step], () =>
      workspace.write(path, bytes, target?.version ?? 'nothing'),
    )
    const { resolved, stat, lost } = written
    if (!changed || changed.isWhole) getReads(session).remember(resolved, { hash: shortenHash(after), stat, bytes })
    return { resolved, hash: shortenHash(after), notices: lossNotices(path, lost) }
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_FILE_STALE') throw error
    const read_hash = target && shortenHash(target.version.sha256)
    throw new VtError({ ...error.problem, details: { path, disk_hash: null, read_hash }, next: createReadCall(path) })
  }
}
