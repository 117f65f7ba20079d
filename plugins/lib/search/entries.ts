import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs'
import { VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryKind, EntryStat, FileOpener, Handle } from '../../../core/workspace/index.js'
import { toBaseName, nextCall, toParentPath } from '../base/index.js'

export interface ListedEntry extends Pick<EntryStat, 'kind' | 'bytes' | 'mtime_ms' | 'mtime_ns' | 'dev' | 'ino'> {
  /** Target of a link, unresolved. */
  target?: string
}

/**
 * Returns the stat of each path without following a link in its last segment. Missing paths and paths outside the
 * workspace are left out.
 */
export async function statEntries(context: Context, paths: Iterable<string>): Promise<Map<string, ListedEntry>> {
  const byParent = new Map<string, string[]>()
  for (const path of paths) {
    const parent = toParentPath(path)
    const siblings = byParent.get(parent)
    if (siblings) siblings.push(path)
    else byParent.set(parent, [path])
  }
  const found = new Map<string, ListedEntry>()
  for (const [parent, siblings] of byParent) {
    // The directory is opened once for all of its entries.
    const directory = await context.workspace.openDirectory(parent).catch(() => undefined)
    if (!directory) continue
    await using held = directory
    for (const path of siblings) {
      const entry = path.includes('\\x')
        ? await context.workspace.stat(path).catch(() => undefined)
        : statEntry(held, path)
      if (entry) found.set(path, entry)
    }
  }
  return found
}

/** Opens the file or directory of a search. Throws VT_PATH_*; for a missing path `next` lists the nearest directory. */
export async function openToSearch({ workspace }: Context, path: string): Promise<Handle> {
  try {
    return await workspace.open(path)
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
    let parent = toParentPath(path)
    while (parent !== '.' && (await workspace.stat(parent).catch(() => undefined))?.kind !== 'directory')
      parent = toParentPath(parent)
    throw new VtError({ ...error.problem, next: nextCall('list', { path: parent }) })
  }
}

/** Opens a file that a walk found. Skips a file that vanished or now leads out; adds an unreadable file to `unread`. */
export async function openIfReadable(
  files: Pick<FileOpener, 'openFile'>,
  path: string,
  unread: string[],
): Promise<Handle | undefined> {
  try {
    return await files.openFile(path)
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    if (error.code === 'VT_PATH_PERMISSION' || error.code === 'VT_FILE_IO') unread.push(path)
    return undefined
  }
}

/** Returns the paths that exist in the workspace, so that no name from outside reaches an answer. */
export async function filterExisting(context: Context, paths: string[]): Promise<string[]> {
  const found = await statEntries(context, paths)
  return paths.filter((path) => found.has(path))
}

/**
 * Formats the complaints of a program about files below `base` as `PATH: REASON`. Drops those about files outside the
 * workspace.
 */
export async function formatComplaints(context: Context, base: string, complaints: string[]): Promise<string[]> {
  const parsed = complaints.map((text) => {
    const [, path, reason] = /^(?:\.\/)?(.+?): (.*\(os error \d+\).*|PCRE2: .*)$/.exec(text) ?? []
    return path === undefined ? { text } : { path: base === '.' ? path : `${base}/${path}`, text: reason! }
  })
  const found = await statEntries(
    context,
    parsed.flatMap(({ path }) => path ?? []),
  )
  return parsed.flatMap(({ path, text }) => (path === undefined ? [text] : found.has(path) ? [`${path}: ${text}`] : []))
}

function statEntry(directory: Handle, path: string): ListedEntry | undefined {
  const place = `${directory.ref}/${toBaseName(path)}`
  const stats = lstatSync(place, { throwIfNoEntry: false, bigint: true })
  if (!stats) return undefined
  const kind = toEntryKind(stats)
  const { dev, ino, mtimeNs: mtime_ns } = stats
  return {
    kind,
    bytes: Number(stats.size),
    mtime_ms: Number(stats.mtimeMs),
    mtime_ns,
    dev,
    ino,
    ...(kind === 'link' && { target: readlinkSync(place) }),
  }
}

const toEntryKind = (stats: BigIntStats): EntryKind =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'other'
