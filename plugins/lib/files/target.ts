import { problem, VtError, type Next, type Notice } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryStat, FileVersion } from '../../../core/workspace/index.js'
import { contentHash, nextCall, shortenHash } from '../base/index.js'
import { diffTexts } from './diff.js'
import { getReads, isSameVersion } from './reads.js'

/** A file to change, with its current content. */
export interface FileTarget {
  path: string
  resolved: string
  bytes: Buffer
  version: FileVersion
}

/** Size limit of a file to change in bytes. */
export const MAX_CHANGED_BYTES = 64 * 1024 * 1024

/**
 * Loads the file at `path`; `undefined` if missing. Throws VT_PATH_IS_DIRECTORY, VT_PATH_SPECIAL, VT_INPUT_TOO_LARGE
 * and other path errors.
 */
export async function loadTarget(path: string, { workspace }: Context): Promise<FileTarget | undefined> {
  let file
  try {
    file = await workspace.openFile(path)
  } catch (error) {
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return undefined
    throw error
  }
  await using opened = file
  const { stat } = opened
  if (stat.bytes > MAX_CHANGED_BYTES) throw createTooLargeError(opened.path, stat.bytes)
  const bytes = await opened.read(0, stat.bytes)
  return { path: opened.path, resolved: opened.resolved, bytes, version: { stat, sha256: contentHash(bytes), bytes } }
}

/**
 * Refuses a change to a file that differs from what the caller expects. `expected` is the start of a hash in the call;
 * without it the last read of this session counts. Throws VT_FILE_STALE.
 */
export function refuseStale(
  path: string,
  target: FileTarget | undefined,
  expected: string | undefined,
  { session }: Context,
): void {
  const disk = target && shortenHash(target.version.sha256)
  if (expected !== undefined) {
    if (target?.version.sha256.startsWith(expected.toLowerCase())) return
    throw createStaleError(path, { path, expected_hash: expected, disk_hash: disk ?? null })
  }
  const lastRead = target && getReads(session).get(target.resolved)
  if (
    !lastRead ||
    (lastRead.hash ? lastRead.hash === disk : !lastRead.stat || isSameVersion(lastRead.stat, target.version.stat))
  )
    return
  const diff = lastRead.bytes && diffTexts(path, lastRead.bytes, target.bytes, { lines: 40, bytes: 8192 })
  throw createStaleError(path, {
    path,
    ...(lastRead.hash && { read_hash: lastRead.hash }),
    disk_hash: disk,
    ...(diff && { diff }),
  })
}

/** Refuses a stale file by its stat, without reading its content. Throws VT_FILE_STALE. */
export function refuseStaleStat(path: string, stat: EntryStat, { session, workspace }: Context): void {
  const lastRead = getReads(session).get(workspace.resolve(path, { follow: false }))
  if (lastRead?.stat && !isSameVersion(lastRead.stat, stat)) throw createStaleError(path, { path })
}

const createStaleError = (path: string, details: Record<string, unknown>): VtError =>
  problem('VT_FILE_STALE', { path }, { details, next: createReadCall(path) })

export const createReadCall = (path: string, fields: Record<string, unknown> = {}): Next =>
  nextCall('read', { path, ...fields })

/** Returns notices about attributes of the old file that the new one could not keep. */
export function lossNotices(path: string, lost: readonly string[]): Notice[] {
  const texts: Record<string, Notice> = {
    hardlinks: {
      code: 'VT_FILE_HARDLINK',
      message: `'${path}' had other hard links; they keep the old content.`,
    },
    attributes: {
      code: 'VT_FILE_ATTRIBUTES',
      message: `Some extended attributes or the access list of '${path}' could not be kept.`,
    },
    owner: {
      code: 'VT_FILE_OWNER',
      message: `'${path}' now belongs to this user; its earlier owner could not be kept.`,
    },
  }
  return lost.flatMap((loss) => texts[loss] ?? [])
}

/** Limits of a diff in the answer about a single file. */
export const DIFF_LIMITS = { lines: 200, bytes: 16 * 1024 }

export const createTooLargeError = (path: string, size: number): VtError =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${path}' has ${size} bytes; files up to ${MAX_CHANGED_BYTES} are changed in place.`,
    hint: 'Read a part of it, and change the file with a program in {slot:unified_exec/run}.',
    retryable: false,
    details: { size_bytes: size, limit_bytes: MAX_CHANGED_BYTES },
  })
