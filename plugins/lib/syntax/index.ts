export { runAstGrep, findAstGrep, ensureAstGrep, parseReasons, type AstGrepEnd } from './ast_grep.js'
export { canSearchPages, extractCode, toPagePosition, type EmbeddedCode } from './embedded_code.js'
export { InstallProblem, install } from './ast_grep_install.js'
export {
  languageByName,
  languageByPath,
  languages,
  outlinedByAstGrep,
  patternLanguages,
  type Language,
} from './languages.js'
export { runOnLinks, withLinks, type Linked } from './links.js'
export { loadAstGrepLibrary, isLinearToParse, MAX_LINE_UNITS, type Library } from './library.js'
export {
  createOutlineAnswer,
  getCachedOutline,
  describeSkipped,
  cacheOutline,
  findOutlineSubjects,
  createRoomCheck,
  createShaper,
  isTooLargeToOutline,
  readOutlineVersion,
  toOutlineVersion,
  resolveLanguage,
  shortenName,
  type OutlineSubject,
} from './outline.js'
export type { Member, OutlinedFile, OutlineInput, OutlineItem, ParsedOutline, Range } from './types.js'
export { createPositions, type Positions } from './positions.js'
export { outlinePage, outlineStyles } from './markup.js'
export { MARK, type KindRule, type SyntaxRule } from './extractor.js'
export { loadScriptRules, unmarkItems } from './script_rules.js'
export { outlineScript } from './scripts.js'
