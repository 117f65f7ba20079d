import { createGrep } from '../lib/grep/index.js'
import { findMatchPositions, countMatches } from '../lib/search/index.js'

/** Searches text with ripgrep. Declines when it cannot be started. */
export default createGrep({ backend: 'ripgrep', search: countMatches, findPositions: findMatchPositions })
