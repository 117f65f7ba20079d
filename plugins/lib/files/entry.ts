import { problem, VtError } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryStat } from '../../../core/workspace/index.js'
import { refuseStale, refuseStaleStat, type StaleFile } from './stale_file.js'
import type { KeptFile } from './history.js'
import { createMissingPathError } from './missing_path.js'
import { MAX_CHANGED_BYTES, loadTarget, createTooLargeError } from './target.js'

/** An entry of the workspace to move, copy or remove. A link stands for itself. */
export interface MovableEntry {
  path: string
  /** Resolved path; links on the way are followed. */
  at: string
  stat: EntryStat
  kind: 'file' | 'dir' | 'symlink'
  /** Present for a file that is small enough to read. */
  content?: KeptFile
  /** Present for a file that grew since it was read. */
  changed?: StaleFile
}

const kinds = { file: 'file', directory: 'dir', link: 'symlink' } as const

/**
 * Returns the entry at `path`, checked against the last read of this session: with `allowGrowth`, a file may have grown
 * since. Throws VT_FILE_STALE, VT_PATH_SPECIAL.
 */
export async function findEntry(
  path: string,
  expected: string | undefined,
  context: Context,
  how: { allowGrowth?: boolean } = {},
): Promise<MovableEntry | undefined> {
  refuseRoot(path)
  const { workspace } = context
  const stat = await workspace.stat(path)
  if (!stat) return undefined
  if (stat.kind === 'other') throw problem('VT_PATH_SPECIAL', { path, kind: 'special file' })
  const entry = { path, at: resolveEntry(path, context), stat, kind: kinds[stat.kind] }
  if (stat.kind !== 'file') return entry
  if (stat.bytes > MAX_CHANGED_BYTES && expected === undefined) {
    refuseStaleStat(path, stat, context)
    return entry
  }
  const target = await loadTarget(path, context)
  const changed = refuseStale(path, target, expected, context, how)
  return {
    ...entry,
    ...(changed && { changed }),
    ...(target && { content: { sha256: target.version.sha256, mode: stat.mode, bytes: stat.bytes } }),
  }
}

/** Returns the resolved path of an entry; a link stands for itself. */
export const resolveEntry = (path: string, { workspace }: Context): string => workspace.resolve(path, { follow: false })

/** Returns an existing entry to move or copy, which may have grown. Throws VT_PATH_NOT_FOUND with similar paths. */
export async function requireEntry(
  path: string,
  expected: string | undefined,
  context: Context,
): Promise<MovableEntry> {
  const entry = await findEntry(path, expected, context, { allowGrowth: true })
  if (!entry) throw await createMissingPathError(path, context)
  return entry
}

/**
 * Returns the file that a new name replaces, if any. Throws VT_PATH_EXISTS, VT_INPUT_CONFLICT and the errors of
 * `findEntry`.
 */
export async function requireFreeName(
  from: MovableEntry,
  to: string,
  overwrite: boolean,
  context: Context,
): Promise<MovableEntry | undefined> {
  const place = resolveEntry(to, context)
  if (from.at === place || (from.kind === 'dir' && place.startsWith(`${from.at}/`))) {
    const fields = `path '${from.path}' and destination '${to}'`
    throw problem('VT_INPUT_CONFLICT', { fields }, { hint: 'Choose a destination outside the entry itself.' })
  }
  const there = await findEntry(to, undefined, context)
  if (!there) return undefined
  if (there.kind === 'dir')
    throw createTakenError(
      to,
      `'${to}' is a directory: give the full new name, for example '${to}/${from.path.split('/').at(-1)}'.`,
    )
  if (from.kind === 'dir' || there.kind === 'symlink')
    throw createTakenError(to, 'Choose another name, or delete the existing entry first.')
  if (!overwrite) throw createTakenError(to, 'Choose another name, or set overwrite: true to replace the file.')
  if (!there.content) throw createTooLargeError(to, there.stat.bytes)
  return there
}

export function refuseRoot(path: string): void {
  if (path === '.')
    throw problem('VT_INPUT_INVALID', { problem: "'.' is the workspace itself; give a path inside it." })
}

const createTakenError = (path: string, hint: string): VtError => problem('VT_PATH_EXISTS', { path }, { hint })
