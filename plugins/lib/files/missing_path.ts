import { problem, VtError, type Next } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { nextCall } from '../base/index.js'

/** Limits of the search for an equal name. A name that is not found quickly is unlikely to be meant. */
const SEARCH_LIMITS = { directories: 500, names: 20_000 }
const SKIPPED_FOLDERS = new Set(['.git', '.vtcode', 'node_modules'])

/**
 * Returns the error for a missing path. The error names similar paths, equal names first, and the call that lists the
 * nearest folder.
 */
export async function createMissingPathError(
  path: string,
  { workspace }: Pick<Context, 'workspace'>,
): Promise<VtError> {
  try {
    await (await workspace.open(path)).close()
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
    const next = await createNearestListCall(path, workspace)
    if (error.problem.details?.['link'] !== undefined)
      return new VtError({ ...error.problem, details: { ...error.problem.details, path }, next })
    const siblings = (error.problem.details?.['similar'] ?? []) as string[]
    const name = path.slice(path.lastIndexOf('/') + 1)
    const similar = [...new Set([...(await findSameName(name, workspace)), ...siblings])].slice(0, 3)
    const named = similar.length > 0 ? `; similar: ${similar.join(', ')}` : ''
    const details = { path, ...(similar.length > 0 && { similar }) }
    return problem(
      'VT_PATH_NOT_FOUND',
      { path, similar: named },
      {
        details,
        next,
        ...(similar.length > 0 && { hint: 'Use one of these paths, or list the folder.' }),
      },
    )
  }
  // The entry appeared in the meantime.
  return problem('VT_FILE_STALE', { path })
}

/** Returns the call that lists a directory. */
export const createListCall = (path: string): Next => nextCall('list', { path })

async function createNearestListCall(path: string, workspace: Workspace): Promise<Next> {
  let parent = path
  do parent = parent.includes('/') ? parent.slice(0, parent.lastIndexOf('/')) : '.'
  while (parent !== '.' && (await workspace.stat(parent))?.kind !== 'directory')
  return createListCall(parent)
}

/** Finds at most three entries with this name, nearest to the root first. */
async function findSameName(wanted: string, workspace: Workspace): Promise<string[]> {
  const found: string[] = []
  const folders = ['.']
  let seen = 0
  for (let at = 0; at < folders.length && at < SEARCH_LIMITS.directories && seen < SEARCH_LIMITS.names; at++) {
    const folder = folders[at]!
    const entries = await workspace.listNames(folder).catch(() => [])
    seen += entries.length
    for (const { name, kind } of entries) {
      const path = folder === '.' ? name : `${folder}/${name}`
      if (name === wanted && found.push(path) === 3) return found
      if (kind === 'directory' && !SKIPPED_FOLDERS.has(name)) folders.push(path)
    }
  }
  return found
}
