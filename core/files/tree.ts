import {
  closeSync,
  constants,
  createReadStream,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  type BigIntStats,
} from 'node:fs'
import { chmod, copyFile, writeFile } from 'node:fs/promises'
import { problem, VtError } from '../shapes/index.js'
import { encodeName, escapePath } from '../system/index.js'
import { formatReference, syncDirectory, type Directory, type DirectoryEntry } from './directory.js'
import type { Extent } from './types.js'

/** Lists the names in a directory, as text that converts back to the same bytes. */
export const listDirectory = (directory: Directory): string[] =>
  readdirSync(directory.pathTo('.'), { encoding: 'buffer' }).map(encodeName)

/**
 * Measures the entry `name`. Throws VT_INPUT_TOO_LARGE above `most`, VT_PATH_PERMISSION for a mounted file system
 * inside it.
 */
export function measure(directory: Directory, name: string, path: string, most?: Extent): Extent {
  const extent = { entries: 0, bytes: 0 }
  visit(directory, name, false)
  return extent

  function visit(parent: Directory, child: string, inside: boolean): void {
    const stats = statEntry(parent, child)
    const directory = stats?.isDirectory() ?? false
    // The contents of the measured directory count; the directory itself does not.
    if (stats && (inside || !directory)) extent.entries++
    if (stats?.isFile()) extent.bytes += Number(stats.size)
    if (most && (extent.entries > most.entries || extent.bytes > most.bytes)) throw extentError(path, most)
    if (!directory) return
    const inner = parent.openDirectory(child)
    try {
      if (readMountId(inner) !== readMountId(parent))
        throw problem('VT_PATH_PERMISSION', { path: escapePath(path), reason: 'another file system is mounted inside' })
      for (const grandchild of listDirectory(inner)) visit(inner, grandchild, true)
    } finally {
      inner.close()
    }
  }
}

function statEntry(directory: Directory, name: string): BigIntStats | undefined {
  const entry = directory.peek(name)
  entry?.close()
  return entry?.stats
}

/** Removes the entry `name` with its contents, links as links. A missing entry is no error. */
export function removeTree(directory: Directory, name: string): void {
  const stats = statEntry(directory, name)
  if (!stats) return
  if (!stats.isDirectory()) return unlinkSync(directory.pathTo(name))
  const inner = directory.openDirectory(name)
  try {
    for (const child of listDirectory(inner)) removeTree(inner, child)
  } finally {
    inner.close()
  }
  rmdirSync(directory.pathTo(name))
}

/**
 * Copies the entry `from` with its modes to the unused name `to`, synced on return. `link` judges the text of each
 * link.
 */
export async function copyTree(
  source: Directory,
  from: string,
  target: Directory,
  to: string,
  link: (text: string) => void,
): Promise<void> {
  const entry = source.peek(from)
  if (!entry) throw Object.assign(new Error('gone'), { code: 'ENOENT' })
  try {
    const mode = Number(entry.stats.mode) & 0o7777
    if (entry.stats.isFile()) await copyBytes(entry, target.pathTo(to), mode)
    else if (entry.stats.isSymbolicLink()) {
      const text = readlinkSync(source.pathTo(from), { encoding: 'buffer' })
      link(encodeName(text))
      symlinkSync(text, target.pathTo(to))
    } else if (entry.stats.isDirectory()) {
      mkdirSync(target.pathTo(to), { mode: 0o700 })
      const [inside, copy] = [source.openDirectory(from), target.openDirectory(to)]
      try {
        for (const child of listDirectory(inside)) await copyTree(inside, child, copy, child, link)
        await chmod(copy.pathTo('.'), mode)
        syncDirectory(copy)
      } finally {
        inside.close()
        copy.close()
      }
    } else throw problem('VT_PATH_SPECIAL', { path: escapePath(from), kind: 'special file' })
  } finally {
    entry.close()
  }
}

async function copyBytes(entry: DirectoryEntry, target: string | Buffer, mode: number): Promise<void> {
  const fd = entry.open()
  try {
    const open = formatReference(fd, '')
    // Without a path for the descriptor, another call could open a different file. The checked file is read here.
    if (open) await copyFile(open, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    else await writeFile(target, createReadStream('', { fd, autoClose: false }), { flag: 'wx' })
  } finally {
    closeSync(fd)
  }
  const copy = openSync(target, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  try {
    fsyncSync(copy)
  } finally {
    closeSync(copy)
  }
  await chmod(target, mode)
}

/** Returns the number of the mount, which differs for one file system that is mounted twice. */
function readMountId({ fd }: Directory): string | undefined {
  if (process.platform !== 'linux' || fd < 0) return undefined
  return /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
}

const extentError = (path: string, most: Extent): VtError =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${escapePath(path)}' holds more than ${most.entries} entries or ${most.bytes} bytes.`,
    hint: 'Take it in parts.',
    retryable: false,
    details: { entries_limit: most.entries, bytes_limit: most.bytes },
  })
