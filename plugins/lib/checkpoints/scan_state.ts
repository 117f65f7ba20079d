import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { OWN_FOLDERS, type OpenWorkspace } from '../../../core/workspace/index.js'
import { findIgnoredTrees, isGenerated } from './ignored_trees.js'
import type { EntryState, IndexEntry, Stamp, Uncovered } from './types.js'

/** A folder that checkpoints cover. Its paths begin with `prefix`: none for the workspace. */
export interface CoveredRoot {
  prefix: string
  workspace: OpenWorkspace
}

/** An entry that is new or has another stamp than the index. */
export interface ScannedEntry {
  path: string
  root: CoveredRoot
  /** Path below the root. */
  inside: string
  stamp: Stamp
  kind: EntryState['kind']
}
export interface ScanResult {
  changed: ScannedEntry[]
  removed: string[]
  skipped: Uncovered[]
}

/** Limits of ignored trees; larger ones are left out as a whole. */
const MAX_IGNORED = { entries: 20_000, bytes: 256 * 1024 * 1024 }
const MAX_ENTRIES = 300_000
/** A scan that finds more new entries reads again what git ignores. */
const MANY_NEW = 5000

/** Compares the entries on disk with the index. Reads no content. */
export async function scanState(
  roots: readonly CoveredRoot[],
  known: ReadonlyMap<string, IndexEntry>,
  skippedBefore: readonly Uncovered[],
): Promise<ScanResult> {
  const seen: string[] = []
  let knownCount = 0
  const changed: ScannedEntry[] = []
  const skipped = new Map<string, Uncovered>(skippedBefore.map((one) => [one.path, one]))
  const unreadable: string[] = []
  for (const root of roots) {
    const { prefix, workspace } = root
    const isOwn = createOwnFilter(workspace, prefix)
    let dev: number | undefined
    const found = await workspace.scan((inside, stats) => {
      const path = prefix + inside
      if (isOwn(inside) || (skipped.size > 0 && skipped.has(path))) return false
      dev ??= stats.dev
      if (stats.dev !== dev || seen.length >= MAX_ENTRIES) {
        const reason = stats.dev === dev ? `more than ${MAX_ENTRIES} entries` : 'another file system'
        skipped.set(path, { path, bytes: stats.size, reason })
        return false
      }
      seen.push(path)
      const entry = known.get(path)
      if (entry) knownCount++
      if (!entry || !hasStamp(entry, stats))
        changed.push({ path, root, inside, stamp: toStamp(stats), kind: toKind(stats) })
      return stats.isDirectory()
    })
    unreadable.push(...found.unreadable.map((inside) => `${prefix}${inside}/`))
  }
  const isNew = changed.filter(({ path }) => !known.has(path))
  const left_out = isNew.length > MANY_NEW ? await leaveOutIgnored(roots[0]!, isNew, skipped) : undefined
  const kept = left_out ? changed.filter(({ path }) => !left_out(path)) : changed
  const removed = knownCount === known.size ? [] : findRemoved(known, new Set(seen), unreadable)
  return { changed: kept.sort(comparePriority), removed, skipped: [...skipped.values()] }
}

/** Returns the paths of the index that are gone, except for those in folders that cannot be read. */
const findRemoved = (
  known: ReadonlyMap<string, IndexEntry>,
  seen: ReadonlySet<string>,
  unreadable: readonly string[],
): string[] =>
  [...known.keys()].filter((path) => !seen.has(path) && !unreadable.some((folder) => path.startsWith(folder)))

/** Adds ignored trees above the limits to `skipped`, and returns whether a path lies in one of them. */
async function leaveOutIgnored(
  { workspace }: CoveredRoot,
  entries: readonly ScannedEntry[],
  skipped: Map<string, Uncovered>,
): Promise<(path: string) => boolean> {
  const findTree = await findIgnoredTrees(workspace)
  const trees = new Map<string, { entries: number; bytes: number }>()
  for (const { path, stamp } of entries) {
    const tree = findTree(path)
    if (tree === undefined) continue
    const extent = trees.get(tree) ?? { entries: 0, bytes: 0 }
    trees.set(tree, { entries: extent.entries + 1, bytes: extent.bytes + stamp[0] })
  }
  for (const [path, { entries: count, bytes }] of trees)
    if (count > MAX_IGNORED.entries || bytes > MAX_IGNORED.bytes)
      skipped.set(path, { path, bytes, reason: `ignored tree of ${count} entries` })
  return (path) => skipped.has(findTree(path) ?? '')
}

/** Returns whether a path belongs to this program, whose state is not reverted. */
function createOwnFilter({ isSecret }: OpenWorkspace, prefix: string): (path: string) => boolean {
  if (prefix !== '') return () => false
  const own = new Set(OWN_FOLDERS.map((name) => join('.vtcode', name)))
  return (path) => (path.startsWith('.vtcode') && own.has(path)) || (isSecret !== undefined && isSecret(path))
}

const hasStamp = ({ stamp, state }: IndexEntry, { size, mtimeMs, ctimeMs, ino, mode }: Stats): boolean =>
  state.kind === 'directory'
    ? stamp[4] === mode
    : stamp[2] === ctimeMs && stamp[1] === mtimeMs && stamp[0] === size && stamp[3] === ino && stamp[4] === mode

export const toStamp = ({ size, mtimeMs, ctimeMs, ino, mode }: Stats): Stamp => [size, mtimeMs, ctimeMs, ino, mode]

const toKind = (stats: Stats): EntryState['kind'] =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'special'

/** Orders work before what is mostly built or stored by programs, and the newest first. */
const comparePriority = (a: ScannedEntry, b: ScannedEntry): number =>
  toRank(a.path) - toRank(b.path) || b.stamp[1] - a.stamp[1]
const toRank = (path: string): number => (isGenerated(path) ? 2 : /(^|\/)\.git\/(.*\/)?objects\//.test(path) ? 1 : 0)
