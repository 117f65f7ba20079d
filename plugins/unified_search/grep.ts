import { createGrep, findMatchPositions, countMatches } from '../lib/search/index.js'

/** Broad text search with ripgrep. Declines when it cannot be started. */
export default createGrep({ backend: 'ripgrep', search: countMatches, findPositions: findMatchPositions })
