export { astGrep, astGrepPath, ensureAstGrep, reasons, type Answered } from './ast_grep.js'
export { InstallProblem, install } from './ast_grep_install.js'
export { languageNamed, languageOf, languages, type Language } from './languages.js'
export {
  answer, cached, filterOf, leftOut, remember, subjects, tooLarge, versionIn, versionOf, wantedLanguage, type Item, type Member, type OutlineInput,
  type Outlined, type Range, type Subject,
} from './outline.js'
export { positionsIn, type Positions } from './positions.js'
