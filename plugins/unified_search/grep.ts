import { grepWith, matchPositions, countMatches } from '../lib/search/index.js'

/** Broad text search with ripgrep. Declines when it cannot be started. */
export default grepWith({ backend: 'ripgrep', search: countMatches, places: matchPositions })
