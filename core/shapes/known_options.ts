import { findNearest } from '../text/index.js'
import { problem } from './errors.js'

/**
 * Requires that an options object has known names only; one with the value `undefined` is ignored. Throws
 * VT_INPUT_INVALID with the nearest name.
 */
export function requireKnownOptions(caller: string, options: object, known: Readonly<Record<string, true>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue
    const like = findNearest(name, Object.keys(known))
    const hint = like === undefined ? '' : ` (did you mean ${like}?)`
    throw problem('VT_INPUT_INVALID', {
      problem: `${caller} has no option '${name}'${hint}; known: ${Object.keys(known).join(', ')}.`,
    })
  }
}
