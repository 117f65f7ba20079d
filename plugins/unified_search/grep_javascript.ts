import { createGrep, findPositionsInProcess, searchInProcess } from '../lib/search/index.js'

/** Text search where ripgrep is missing: the same answers, slower, without look-around and back-references. */
export default createGrep({ backend: 'javascript', search: searchInProcess, findPositions: findPositionsInProcess })
