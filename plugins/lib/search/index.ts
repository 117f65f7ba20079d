export { findPositionsInProcess, searchInProcess } from './engine_javascript.js'
export {
  filterExisting,
  statEntries,
  openIfReadable,
  openToSearch,
  formatComplaints,
  type ListedEntry,
} from './entries.js'
export { listEntries, listFiles, listUnsortedFiles, type Listing } from './enumerate.js'
export { createGrep } from './grep.js'
export { findMatchPositions } from './match_positions.js'
export {
  MAX_PARSED_BYTES,
  MAX_SEARCHED_BYTES,
  PARSER_MEMORY_BYTES,
  runRipgrep,
  findRipgrep,
  tooHardToParse,
  tooLargeToParse,
  withWalk,
  type WalkOptions,
} from './ripgrep.js'
export { SEARCH_TIMEOUT_SECONDS } from './pattern.js'
export { toPatternRefusal, countMatches } from './search.js'
export { isBinaryText, readLinesAfter, readLinesBefore, openTextSource, type TextSource } from './text_source.js'
