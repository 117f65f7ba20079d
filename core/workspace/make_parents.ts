import { mkdirSync } from 'node:fs'
import { syncDirectory, type Location } from '../files/index.js'
import { VtError } from '../shapes/index.js'
import type { ConfinedPaths } from './confined_paths.js'
import { isOwnState } from './own_state.js'

/**
 * Walks to the entry of a normalised path and makes its missing parents. Each new parent is added to `made`; the
 * caller closes them, and removes them in reverse order if it fails.
 */
export function makeParents(paths: ConfinedPaths, path: string, follow: boolean, made: Location[]): Location {
  try {
    return paths.walk(path, follow)
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND' || !path.includes('/')) throw error
  }
  const parent = makeParents(paths, path.slice(0, path.lastIndexOf('/')), true, made)
  if (parent.entry) parent.close()
  else {
    mkdirSync(parent.directory.pathTo(parent.name), { mode: isOwnState(path) ? 0o700 : 0o755 })
    made.push(parent)
    syncDirectory(parent.directory)
  }
  return paths.walk(path, follow)
}
