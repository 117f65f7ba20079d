import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  write,
  type BigIntStats,
} from 'node:fs'
import { problem } from '../shapes/index.js'
import { escapePath } from '../system/index.js'
import { copyAttributes } from './attributes.js'
import type { DirectoryEntry } from './directory.js'
import { toStat } from './handle.js'
import { syncOrUndo, tryLink, moveToFreeName } from './move.js'
import { createTempName } from './temp_files.js'
import type { EntryStat, ExpectedState, FileVersion, WriteResult } from './types.js'
import type { Location } from './walk.js'

const { promisify } = process.getBuiltinModule('node:util')

/** The new file, and the properties of the old one that were lost. */
type PlacedFile = Pick<WriteResult, 'stat' | 'lost'>

interface FileWrite {
  bytes: Uint8Array
  expected: ExpectedState
  mode: number | undefined
  /** Runs when the new content is on disk without a name. A throw keeps the old file. */
  commit: () => void
}

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
const syncFile = promisify(fsync)
const writeSome = promisify(write)

/**
 * Writes a file atomically: a temporary file in the same directory gets its final mode, then its content, and is
 * synced. The old file is checked again, then replaced by one rename, and the directory is synced. Any failure keeps
 * the old file.
 */
export async function writeFile(
  location: Location,
  path: string,
  { bytes, expected, mode, commit }: FileWrite,
): Promise<PlacedFile> {
  const { directory, entry: old } = location
  if (old) requireReplaceable(old, expected, escapePath(path))
  const temp = createTempName(directory)
  try {
    // A new file gets 0644 less the umask. A replacement is private until it gets the old mode.
    const fd = openSync(
      directory.pathTo(temp.name),
      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
      old || mode !== undefined ? 0o600 : 0o644,
    )
    try {
      const lost = old ? await copyOwnership(fd, old, expected) : []
      const final = mode ?? (old && Number(old.stats.mode) & 0o7777)
      if (final !== undefined) fchmodSync(fd, final)
      await writeAll(fd, bytes)
      if (final !== undefined && final & 0o6111) {
        // A write clears set-id bits and capabilities. Only root can set capabilities.
        if (old && process.geteuid?.() === 0) await copyEntryAttributes(old, fd)
        fchmodSync(fd, final)
      }
      await syncFile(fd)
      publish(location, temp.name, path, expected, commit)
      return { stat: toStat(fstatSync(fd, { bigint: true })), lost }
    } finally {
      closeSync(fd)
    }
  } finally {
    temp.drop()
  }
}

function requireReplaceable(old: DirectoryEntry, expected: ExpectedState, path: string): void {
  if (expected === 'nothing') throw problem('VT_PATH_EXISTS', { path })
  if (old.stats.isDirectory()) throw problem('VT_PATH_IS_DIRECTORY', { path })
  if (!old.stats.isFile()) throw problem('VT_PATH_SPECIAL', { path, kind: 'special file' })
  // A rename ignores the mode of the old file, so a read-only file is refused here.
  old.refuseReadonly()
}

/** Renames `temp` to its final name, and undoes the rename if the disk does not confirm it. */
function publish(
  { directory, name, entry }: Location,
  temp: string,
  path: string,
  expected: ExpectedState,
  commit: () => void,
): void {
  const [from, to] = [directory.pathTo(temp), directory.pathTo(name)]
  if (expected === 'nothing') {
    commit()
    moveToFreeName(from, to, directory.peek(name))
    return syncOrUndo([directory], () => unlinkSync(to))
  }
  const spare = createTempName(directory)
  try {
    if (expected !== 'anything') refuseChanged(directory.peek(name), expected, path)
    commit()
    const kept = entry && tryLink(to, directory.pathTo(spare.name))
    renameSync(from, to)
    syncOrUndo([directory], () => {
      if (kept) renameSync(directory.pathTo(spare.name), to)
      else if (!entry) unlinkSync(to)
    })
  } finally {
    spare.drop()
  }
}

/** Throws VT_FILE_STALE for another version. Compares identity first, and content where the clock is too coarse. */
function refuseChanged(entry: DirectoryEntry | undefined, seen: FileVersion, path: string): void {
  try {
    if (entry && isSameVersion(entry.stats, seen.stat) && !isRecent(entry.stats)) return
    if (entry?.stats.isFile() && hashEntry(entry) === seen.sha256) return
    throw problem('VT_FILE_STALE', { path: escapePath(path) })
  } finally {
    entry?.close()
  }
}

const isSameVersion = (found: BigIntStats, seen: EntryStat): boolean =>
  found.ino === seen.ino &&
  found.dev === seen.dev &&
  Number(found.size) === seen.bytes &&
  found.mtimeNs === seen.mtime_ns

/** Returns whether a file changed so recently that another change can have the same time. */
const isRecent = (stats: BigIntStats): boolean => Date.now() - Number(stats.mtimeMs) < 100

function hashEntry(entry: DirectoryEntry): string {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(1024 * 1024)
  const fd = entry.open()
  try {
    for (let bytes; (bytes = readSync(fd, chunk)) > 0;) hash.update(chunk.subarray(0, bytes))
  } finally {
    closeSync(fd)
  }
  return hash.digest('hex')
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const length = Math.min(bytes.length - at, 16 * 1024 * 1024)
    at += (await writeSome(fd, bytes, at, length, at)).bytesWritten
  }
}

/** Copies owner and attributes to the new, empty file. Returns the properties that were lost. */
async function copyOwnership(fd: number, old: DirectoryEntry, expected: ExpectedState): Promise<string[]> {
  const { uid, gid, nlink } = old.stats
  // The link count of the seen version counts: `linkOrCopy` may have added a name since.
  const names = typeof expected === 'object' ? expected.stat.nlink : Number(nlink)
  const lost = names > 1 ? ['hardlinks'] : []
  const mine = fstatSync(fd, { bigint: true })
  if (mine.uid !== uid || mine.gid !== gid) {
    try {
      fchownSync(fd, Number(uid), Number(gid))
    } catch {
      lost.push('owner')
    }
  }
  if (!(await copyEntryAttributes(old, fd))) lost.push('attributes')
  return lost
}

/** Copies the attributes of the old file. Returns `false` if some were lost. */
async function copyEntryAttributes(old: DirectoryEntry, fd: number): Promise<boolean> {
  const from = old.open()
  try {
    return await copyAttributes(from, fd)
  } finally {
    closeSync(from)
  }
}
