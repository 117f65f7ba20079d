import { problem, type Contribution } from '../shapes/index.js'
import { findNearest } from '../text/index.js'

/** Rejects an unknown dialect. Throws VT_CONFIG_INVALID. */
export function requireDialects(contributions: readonly Contribution[], chosen: readonly string[] = []): void {
  const known = new Set(['unified', 'each', ...contributions.flatMap(({ manifest }) => manifest.dialect ?? [])])
  const unknown = chosen.find((name) => !known.has(name))
  if (unknown === undefined) return
  const like = findNearest(unknown, known)
  const nearest = like ? ` (did you mean ${like}?)` : ''
  const text = `Unknown dialect '${unknown}'${nearest}; known: ${[...known].sort().join(', ')}.`
  throw problem(
    'VT_CONFIG_INVALID',
    { problem: text },
    { hint: 'Choose one or several of these, separated by commas.' },
  )
}
