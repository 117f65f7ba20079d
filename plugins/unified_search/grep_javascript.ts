import { createGrep } from '../lib/grep/index.js'
import { findPositionsInProcess, searchInProcess } from '../lib/search/index.js'

/** Searches text where ripgrep is missing: slower, without look-around and back-references. */
export default createGrep({ backend: 'javascript', search: searchInProcess, findPositions: findPositionsInProcess })
