export { astGrep, astGrepPath, ensureAstGrep, reasons, type Answered } from './ast_grep.js'
export { InstallProblem, install } from './ast_grep_install.js'
export { languageNamed, languageOf, languages, outlinedByAstGrep, patternLanguages, type Language } from './languages.js'
export { astGrepLibrary, isEven, mostInLine, type Library } from './library.js'
export {
  outlineAnswer, cached, leftOut, remember, outlineSubjects, roomFor, shaperOf, tooLargeToOutline, versionIn, versionOf, wantedLanguage, shownName, type OutlineItem, type Member, type OutlineInput,
  type Outlined, type Range, type OutlineSubject,
} from './outline.js'
export { positionsIn, type Positions } from './positions.js'
export { pageItems, styleItems } from './markup.js'
export { scriptRulesFile, unmarkedItems } from './script_rules.js'
export { scriptItems } from './scripts.js'
