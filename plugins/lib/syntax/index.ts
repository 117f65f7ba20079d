export { runAstGrep, findAstGrep, ensureAstGrep, parseReasons, type AstGrepEnd } from './ast_grep.js'
export { InstallProblem, install } from './ast_grep_install.js'
export {
  languageByName,
  languageByPath,
  languages,
  outlinedByAstGrep,
  patternLanguages,
  type Language,
} from './languages.js'
export { loadAstGrepLibrary, isLinearToParse, MAX_LINE_UNITS, type Library } from './library.js'
export {
  createOutlineAnswer,
  getCachedItems,
  describeSkipped,
  cacheItems,
  findOutlineSubjects,
  createRoomCheck,
  createShaper,
  isTooLargeToOutline,
  readVersion,
  toVersion,
  resolveLanguage,
  shortenName,
  type OutlineSubject,
} from './outline.js'
export type { Member, OutlinedFile, OutlineInput, OutlineItem, Range } from './types.js'
export { createPositions, type Positions } from './positions.js'
export { outlinePage, outlineStyles } from './markup.js'
export { writeScriptRules, removeMarks } from './script_rules.js'
export { outlineScript } from './scripts.js'
