import type { Notice } from '../../../core/index.js'
import { formatNames, notice, pluralize } from '../../lib/base/index.js'
import type { PatternReading } from '../../lib/patterns/index.js'
import type { Language } from '../../lib/syntax/index.js'
import type { LanguageSearch, Side } from './language_search.js'
import type { StructuralSubject } from './subjects.js'

/** The search of one language for one reading of the pattern. */
export interface Attempt {
  language: Language
  files: readonly StructuralSubject[]
  reading: PatternReading | undefined
  search: LanguageSearch
  /** The pattern parses only with errors. */
  isFragment: boolean
}

export const describeReadings = (searched: readonly Attempt[]): Notice[] =>
  searched.flatMap(({ language, reading, search }) =>
    !reading || reading.isStatement || search.total === 0
      ? []
      : [
          notice(
            'VT_SEARCH_FRAGMENT',
            `The pattern matches nothing in ${language.title} as written; in other code it is a ${reading.selector}.`,
          ),
        ],
  )

export function describeRefused(refused: readonly Attempt[]): Notice[] {
  const titles = (isMissing: boolean) =>
    refused
      .filter(({ search }) => (search.refusal!.code === 'VT_SEARCH_ENGINE_MISSING') === isMissing)
      .map(({ language }) => language.title)
  const [invalid, missing] = [titles(false), titles(true)]
  const skip = (message: string) => notice('VT_SEARCH_LANG_SKIPPED', message)
  return [
    ...(invalid.length > 0
      ? [skip(`The pattern is not valid code of ${formatNames(invalid)}; give lang for the reason.`)]
      : []),
    ...(missing.length > 0 ? [skip(`Not searched without the ast-grep program: ${formatNames(missing)}.`)] : []),
  ]
}

export function describeSide(side: Side): Notice[] {
  const { broken, withheld, unread, stopped } = side
  const left = withheld > 0 ? `; left out: ${pluralize(withheld, 'replacement')} in syntax errors` : ''
  const [files, large] = [[...new Set(broken)].sort(), [...new Set(side.large)]]
  return [
    ...(files.length > 0
      ? [
          notice(
            'VT_SEARCH_PARSE',
            `${pluralize(files.length, 'file')} with syntax errors, searched anyway: ${formatNames(files)}${left}`,
          ),
        ]
      : []),
    ...(unread.length > 0 ? [notice('VT_SEARCH_PARTIAL', `Not read: ${formatNames([...new Set(unread)], 5)}`)] : []),
    ...(large.length > 0
      ? [
          notice(
            'VT_SEARCH_SKIPPED',
            `${pluralize(large.length, 'file')} over 8 MiB, left out: ${formatNames(large)}. ` +
              'Name one as path to search it.',
          ),
        ]
      : []),
    ...(stopped
      ? [
          notice(
            'VT_SEARCH_INCOMPLETE',
            'The search stopped at its limit; the totals are lower bounds. Narrow path or globs.',
          ),
        ]
      : []),
  ]
}
