export { astGrep, astGrepPath, ensureAstGrep, reasons, type Answered } from './ast_grep.js'
export { InstallProblem, install } from './ast_grep_install.js'
export {
  languageNamed,
  languageOf,
  languages,
  outlinedByAstGrep,
  patternLanguages,
  type Language,
} from './languages.js'
export { astGrepLibrary, isEven, mostInLine, type Library } from './library.js'
export {
  outlineAnswer,
  cached,
  leftOut,
  remember,
  outlineSubjects,
  roomFor,
  shaperOf,
  tooLargeToOutline,
  versionIn,
  versionOf,
  wantedLanguage,
  shownName,
  type OutlineSubject,
} from './outline.js'
export type { Member, Outlined, OutlineInput, OutlineItem, Range } from './types.js'
export { positionsIn, type Positions } from './positions.js'
export { pageItems, styleItems } from './markup.js'
export { scriptRulesFile, unmarkedItems } from './script_rules.js'
export { scriptItems } from './scripts.js'
