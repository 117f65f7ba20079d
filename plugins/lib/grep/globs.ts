import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import { spellGlobs, splitGlobs } from '../globs/index.js'

/** More globs are refused. A text with commas counts once more as a whole. */
const MAX_GLOBS = 128

/**
 * Returns the globs of a call as the engines read them. `includesFolders`: a glob that names a folder selects its
 * files. Throws VT_INPUT_INVALID for too many.
 */
export async function readGlobs(
  { workspace }: Context,
  base: string,
  globs: string | string[] = [],
  includesFolders = true,
): Promise<string[]> {
  const given = [globs].flat()
  if (given.length === 0) return []
  const count = splitGlobs(given).length
  if (count > MAX_GLOBS)
    throw problem('VT_INPUT_INVALID', { problem: `'globs' has ${count} globs; at most ${MAX_GLOBS} are allowed.` })
  const findKind = async (path: string): Promise<string | undefined> => {
    const entry = await workspace.stat(base === '.' ? path : `${base}/${path}`).catch(() => undefined)
    return entry?.kind
  }
  return spellGlobs(given, { root: workspace.root, base, includesFolders, findKind })
}
