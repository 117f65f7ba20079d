export { placesOurselves, searchOurselves } from './engine_javascript.js'
export { existing, look, openOr, openToSearch, tellable, type ListedEntry } from './entries.js'
export { entriesBelow, filesBelow, unsortedFilesBelow, type Listing } from './enumerate.js'
export { grepWith } from './grep.js'
export { matchPositions } from './match_positions.js'
export {
  largestParsed,
  largestSearched,
  parserMemory,
  ripgrep,
  ripgrepPath,
  tooHardToParse,
  tooLargeToParse,
  withWalk,
  type WalkOptions,
} from './ripgrep.js'
export { seconds } from './pattern.js'
export { patternRefusal, countMatches } from './search.js'
export { isBinaryText, linesAfter, linesBefore, sourceOf, type TextSource } from './text_source.js'
