import { VtError } from '../../../core/shapes/index.js'
import type { FileSelection } from '../globs/index.js'

/** Selects the entries of a directory; shared by all search actions. */
export interface WalkOptions extends FileSelection {
  include_hidden?: boolean
  include_ignored?: boolean
  /** Walk through links that stay inside the workspace. */
  follow?: boolean
  max_depth?: number
  /** Patterns that name entries as globs do, but select nothing in the walk. */
  named?: string[]
}
export const WALK_LIMITS = { entries: 200_000, depth: 64, seconds: 10 }
/** Folders left out of a walk unless it starts at or below them, or a glob names them. */
const EXCLUDED_NAMES = ['.git', 'node_modules', '.vtcode']

/** Lists the names that a walk from `path` leaves out at any depth. */
export function listExcludedNames(path: string, globs: string[] = []): string[] {
  const above = path.split('/')
  return EXCLUDED_NAMES.filter(
    (name) => !above.includes(name) && !globs.some((glob) => !glob.startsWith('!') && glob.split('/').includes(name)),
  )
}

/** Lists the patterns whose names are searched although rules or dots leave them out. */
export const listNaming = ({ globs = [], named = [] }: WalkOptions): string[] => [...globs, ...named]

/** Returns `undefined` for a file that is missing or hidden; throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (error instanceof VtError) return undefined
  throw error
}
