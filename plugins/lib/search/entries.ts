import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs'
import { VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryKind, EntryStat, FileOpener, Handle } from '../../../core/workspace/index.js'
import { toBaseName, nextCall, toParentPath } from '../base/index.js'

export interface ListedEntry extends Pick<EntryStat, 'kind' | 'bytes' | 'mtime_ms' | 'mtime_ns' | 'dev' | 'ino'> {
  /** Where a link points, as it is written. */
  target?: string
}

/** Looks at each path without following a link in its last segment; what is not there, or no longer inside, is missing from the map. */
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
    // One walk for the directory; held open, its own entries can be looked at without another.
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

/** Opens what a search begins at. Throws VT_PATH_*; where nothing is, `next` shows the nearest directory. */
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

/** Opens a file that a walk found. What has gone or leads out since then is passed over; what stands there and cannot be read is put to `unread`. */
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

/** Those paths at which something stands: a name that a program came by outside the workspace is not told. */
export async function filterExisting(context: Context, paths: string[]): Promise<string[]> {
  const found = await statEntries(context, paths)
  return paths.filter((path) => found.has(path))
}

/** What a program says about files below `base`, as `PATH: REASON`, where it may be told. */
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

/** For what is no longer there, or not to be seen: nothing. */
export function ignoreMissing(error: unknown): undefined {
  if (error instanceof VtError) return undefined
  throw error
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
