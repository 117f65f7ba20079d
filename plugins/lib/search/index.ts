export { findPositionsInProcess, searchInProcess } from './engine_javascript.js'
export {
  filterExisting,
  statEntries,
  openIfReadable,
  openToSearch,
  formatComplaints,
  type ListedEntry,
} from './entries.js'
export { type CountedFile } from './first_matches.js'
export { findMatchPositions, isMatchUnchanged, type WantedMatches } from './match_positions.js'
export {
  MAX_PARSED_BYTES,
  MAX_SEARCHED_BYTES,
  PARSER_MEMORY_BYTES,
  runRipgrep,
  findRipgrep,
  tooHardToParse,
  tooLargeToParse,
  withWalk,
  type RipgrepEnd,
} from './ripgrep.js'
export { SEARCH_TIMEOUT_SECONDS, canSpanLines, type Pattern } from './pattern.js'
export { type MatchPosition } from './ripgrep_events.js'
export { toPatternRefusal } from './pattern_problem.js'
export { countMatches, type SearchCounts } from './search.js'
export { type SearchQuery } from './run_query.js'
export { listBinaryExtensions, readExtension, separateBinaryFiles, toBinaryFlags } from './binary_files.js'

export {
  chomp,
  countCodePointsBetween,
  readNextLines,
  readPreviousLines,
  openTextSource,
  type TextSource,
} from './text_source.js'
export { walkEntries, listFiles, listUnsortedFiles, type Listing, type WalkOptions } from '../walk/index.js'
export { findNamedFiles } from './named_files.js'
