import type { Context } from '../../../core/index.js'
import { isGlob } from '../../lib/globs/index.js'
import { readGlobs } from '../../lib/grep/index.js'
import type { WalkOptions } from '../../lib/search/index.js'
import type { ListInput, ListQuery } from './types.js'

/** Reads the globs and patterns of a call. */
export async function toListQuery(input: ListInput, context: Context): Promise<ListQuery> {
  const { globs, pattern, ...rest } = input
  const { path, name_pattern: name } = input
  const isPattern = name !== undefined && isGlob(name)
  return {
    ...rest,
    globs: await readGlobs(context, path, globs),
    ...(pattern !== undefined && { patterns: await readGlobs(context, path, pattern, false) }),
    ...(isPattern && { names: await readGlobs(context, path, name, false) }),
  }
}

/** Returns the part of a call that selects what is walked. */
export function toWalkOptions(input: ListQuery): WalkOptions {
  const { names, patterns = [], name_pattern: name } = input
  // A part of a name that begins with a dot names hidden entries.
  const part = name === undefined || names ? [] : [name.startsWith('.') ? `${name}*` : name]
  return {
    include_hidden: input.include_hidden,
    include_ignored: input.include_ignored,
    follow: input.follow,
    globs: input.globs,
    named: [...patterns, ...(names ?? []), ...part],
  }
}

/** Returns whether a list of one level has a pattern that names folders: then every level is listed. */
export const isDeepList = ({ mode, max_depth, patterns = [], names = [] }: ListQuery): boolean =>
  mode === 'list' &&
  max_depth === undefined &&
  [...patterns, ...names].some((glob) => glob.includes('**') || /.\//.test(glob))

export const resolveDepth = (input: ListQuery): number => {
  const { mode, max_depth } = input
  return max_depth ?? (mode === 'list' && !isDeepList(input) ? 1 : mode === 'tree' ? 3 : MAX_DEPTH)
}

/** Levels of a walk. */
export const MAX_DEPTH = 64
