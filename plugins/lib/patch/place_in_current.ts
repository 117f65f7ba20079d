import { VtError } from '../../../core/shapes/index.js'
import { createStaleError, type StaleFile } from '../files/index.js'
import { placeHunks, type PlacedHunks } from './place.js'
import type { Hunk } from './types.js'

const PLACE_CODES = ['VT_PATCH_CONTEXT', 'VT_PATCH_AMBIGUOUS', 'VT_PATCH_OVERLAP']

/**
 * Places hunks in a file that may have changed since it was read. Line numbers count only while they are those of the
 * read version. Throws VT_FILE_STALE for hunks that fit the read version and not the current one; else as `placeHunks`.
 */
export function placeInCurrent(
  path: string,
  bytes: Buffer,
  hunks: readonly Hunk[],
  changed: StaleFile | undefined,
): PlacedHunks {
  // Lines that were only added at the end do not change the numbers of the others.
  if (!changed || changed.hasGrown) return placeHunks(path, bytes, hunks)
  if (hunks.some(isPlacedByNumber)) throw createStaleError(changed)
  const unnumbered = hunks.map(({ hint: _, ...hunk }) => hunk)
  try {
    return placeHunks(path, bytes, unnumbered)
  } catch (error) {
    const isPlace = error instanceof VtError && PLACE_CODES.includes(error.code)
    throw isPlace && fits(path, changed.before, hunks) ? createStaleError(changed) : error
  }
}

const isPlacedByNumber = ({ lines, anchors, hint }: Hunk): boolean =>
  hint !== undefined && anchors.length === 0 && lines.every(({ kind }) => kind === '+')

/** Returns whether hunks fit the read version of a file, or that version is unknown. */
function fits(path: string, before: Buffer | undefined, hunks: readonly Hunk[]): boolean {
  if (!before) return true
  try {
    placeHunks(path, before, hunks)
    return true
  } catch {
    return false
  }
}
