import type { Context, Notice } from '../../../core/index.js'
import { comparePaths, formatNames, notice, pluralize } from '../../lib/base/index.js'
import { countMatches } from '../../lib/search/index.js'
import { toTextTrace } from '../../lib/patterns/index.js'
import type { StructuralSubject } from './subjects.js'
import type { StructuralInput } from './types.js'

/** Returns a notice if files hold text like a pattern that matches nothing: code of another kind, or no code. */
export async function findTextTrace(
  context: Context,
  { pattern, path, paths, include_hidden }: StructuralInput,
  files: readonly StructuralSubject[],
): Promise<Notice[]> {
  const trace = pattern === undefined || files.length === 0 ? undefined : toTextTrace(pattern)
  if (trace === undefined) return []
  const held = new Set(files.map((file) => file.path))
  const found = await countMatches(context, {
    path: paths ? '.' : path,
    patterns: [trace],
    case_sensitive: true,
    include_hidden,
    only: (file) => held.has(file),
  })
  const named = (found?.files ?? []).map(({ file }) => file).sort(comparePaths)
  if (named.length === 0) return []
  return [
    notice(
      'VT_SEARCH_FRAGMENT',
      `Nothing matched as code, but ${pluralize(named.length, 'file')} with text like the pattern: ` +
        `${formatNames(named, 5)}. It can be a comment, a string or other code; grep shows it.`,
    ),
  ]
}
