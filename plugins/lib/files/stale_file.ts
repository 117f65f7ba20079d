import { problem, type Next, type Notice, type VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryStat } from '../../../core/workspace/index.js'
import { contentHash, shortenHash, toUtf8 } from '../base/index.js'
import { findLineNumber } from './changes.js'
import { diffTexts } from './diff.js'
import { createLinesCall, createReadCall } from './read_call.js'
import { getReads, isSameVersion, type SeenVersion } from './reads.js'
import type { FileTarget } from './target.js'

/** A file that changed since this session read it. */
export interface StaleFile {
  readonly path: string
  /** Hash of the read version, if the session saw all of it. */
  readonly read_hash?: string
  readonly disk_hash: string
  /** The read bytes, if they were kept. */
  readonly before?: Buffer
  /** The difference between the two versions; absent if the read bytes were not kept or are too many. */
  readonly diff?: string
  /** The diff shows the whole difference. */
  readonly isWhole: boolean
  /** Bytes were only added at the end. */
  readonly hasGrown: boolean
  /** Reads the changed lines. */
  readonly next: Next
}

const DIFF_LIMITS = { lines: 40, bytes: 8192 }

/**
 * Compares a file with the version that the caller expects. `expected` is the start of a hash in the call; another
 * hash throws VT_FILE_STALE. Without `expected` the last read of this session counts: a file that changed since is
 * returned.
 */
export function findStaleFile(
  path: string,
  target: FileTarget | undefined,
  expected: string | undefined,
  { session }: Context,
): StaleFile | undefined {
  const disk = target && shortenHash(target.version.sha256)
  if (expected !== undefined) {
    if (target?.version.sha256.startsWith(expected.toLowerCase())) return undefined
    const details = { path, expected_hash: expected, disk_hash: disk ?? null }
    const hint = 'Read it again. Then give its new hash as {field:expected_hash}, or leave {field:expected_hash} out.'
    throw problem('VT_FILE_STALE', { path }, { details, hint, next: createReadCall(path) })
  }
  const lastRead = target && getReads(session).get(target.resolved)
  return lastRead && !isCurrent(lastRead, target) ? describeChange(path, lastRead, target) : undefined
}

/**
 * Refuses a change of a whole file that differs from what the caller expects. Throws VT_FILE_STALE. With `allowGrowth`,
 * a file that only grew is returned instead.
 */
export function refuseStale(
  path: string,
  target: FileTarget | undefined,
  expected: string | undefined,
  context: Context,
  { allowGrowth = false }: { allowGrowth?: boolean } = {},
): StaleFile | undefined {
  const changed = findStaleFile(path, target, expected, context)
  if (changed && !(allowGrowth && changed.hasGrown)) throw createStaleError(changed)
  return changed
}

/** Refuses a stale file by its stat, without reading its content. Throws VT_FILE_STALE. */
export function refuseStaleStat(path: string, stat: EntryStat, { session, workspace }: Context): void {
  const lastRead = getReads(session).get(workspace.resolve(path, { follow: false }))
  if (lastRead?.stat && !isSameVersion(lastRead.stat, stat))
    throw problem('VT_FILE_STALE', { path }, { details: { path }, next: createReadCall(path) })
}

/** Creates the refusal of a change that does not fit the current file. `next` points at the changed lines. */
export function createStaleError({ path, read_hash, disk_hash, diff, next }: StaleFile): VtError {
  const details = { path, ...(read_hash && { read_hash }), disk_hash, ...(diff && { diff }) }
  return problem('VT_FILE_STALE', { path }, { details, next })
}

/** Returns the notice that a call used a file that changed since it was read. */
export const listStaleNotices = (changed: StaleFile | undefined, advice = ''): Notice[] =>
  changed
    ? [
        {
          code: 'VT_FILE_CHANGED',
          message: `'${changed.path}' changed since it was read. The call used its current content.${advice}`,
        },
      ]
    : []

/** Returns the notice about an edited file that changed since it was read, and the text with the difference. */
export function reportStaleFile(changed: StaleFile | undefined): { notices: Notice[]; text: string } {
  const advice = changed?.isWhole
    ? ' The text has the diff since the read.'
    : ' Read it again before you change more of it.'
  return {
    notices: listStaleNotices(changed, advice),
    text: changed?.diff ? `\nChanged since the read:\n${changed.diff.trimEnd()}` : '',
  }
}

const isCurrent = ({ hash, stat }: SeenVersion, { version }: FileTarget): boolean =>
  hash ? hash === shortenHash(version.sha256) : !stat || isSameVersion(stat, version.stat)

function describeChange(path: string, lastRead: SeenVersion, target: FileTarget): StaleFile {
  const { hash, bytes: before } = lastRead
  const [old, now] = [before && toUtf8(before), toUtf8(target.bytes)]
  const diff = old && diffTexts(path, old, now, DIFF_LIMITS)
  return {
    path,
    ...(hash && { read_hash: hash }),
    disk_hash: shortenHash(target.version.sha256),
    ...(before && { before }),
    ...(diff && { diff }),
    isWhole: diff !== undefined && !/\n\[\d+ more lines of the diff\]\n$/.test(diff),
    hasGrown: hasGrown(lastRead, target.bytes),
    next: createChangedLinesCall(path, old, now, lastRead),
  }
}

function hasGrown({ hash, stat, bytes }: SeenVersion, now: Buffer): boolean {
  const size = bytes?.length ?? stat?.bytes
  if (size === undefined || now.length <= size) return false
  return bytes
    ? bytes.equals(now.subarray(0, size))
    : hash !== undefined && hash === shortenHash(contentHash(now.subarray(0, size)))
}

function createChangedLinesCall(path: string, old: Buffer | undefined, now: Buffer, lastRead: SeenVersion): Next {
  if (now.length === 0) return createReadCall(path)
  if (old) {
    const { start, end } = findDifference(old, now)
    return createLinesCall(path, findLineNumber(now, start), findLineNumber(now, end))
  }
  const { stat } = lastRead
  if (!stat || !hasGrown(lastRead, now)) return createReadCall(path)
  return createLinesCall(path, findLineNumber(now, stat.bytes), findLineNumber(now, now.length))
}

/** Returns the piece of `now` that differs from `old`, in bytes. */
function findDifference(old: Buffer, now: Buffer): { start: number; end: number } {
  const most = Math.min(old.length, now.length)
  let start = 0
  while (start < most && old[start] === now[start]) start++
  let tail = 0
  while (tail < most - start && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++
  return { start, end: Math.max(start, now.length - tail - 1) }
}
