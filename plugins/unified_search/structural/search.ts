import { VtError, type Context, type Notice } from '../../../core/index.js'
import { comparePaths, notice, formatNames } from '../../lib/base/index.js'
import {
  describePlace,
  findGap,
  hasError,
  hasErrorInProcess,
  isComplete,
  isProse,
  PatternReader,
  type PatternReading,
} from '../../lib/patterns/index.js'
import type { Language } from '../../lib/syntax/index.js'
import { FoundMatches } from './found_matches.js'
import { describeReadings, describeRefused, describeSide, type Attempt } from './attempts.js'
import { loadLibrary } from './in_process.js'
import { LanguageSearch, type Side } from './language_search.js'
import { createFragmentRefusal, createProseRefusal, locateError, type WholePattern } from './refusals.js'
import { embedded, type StructuralSubject } from './subjects.js'
import type { StructuralCall } from './types.js'

/** Length of a pattern up to which other readings are tried, in UTF-16 units: each parses it again. */
const MAX_REREAD_UNITS = 2000

/** Runs one query and collects its results. */
export class Search {
  readonly side = createSide()
  private readonly attempts: Attempt[] = []

  constructor(
    private readonly context: Context,
    private readonly call: StructuralCall,
    /** The project file, if only the program supports its languages. */
    private readonly config: string | undefined,
    readonly found: FoundMatches,
    /** Readings that an earlier search of more files chose, by language. */
    private readonly known: ReadonlyMap<string, PatternReading | undefined> = new Map(),
  ) {}

  /** Readings of the pattern by language, for a later search. */
  get readings(): Map<string, PatternReading | undefined> {
    return new Map(this.attempts.map(({ language, reading }) => [language.id, reading]))
  }

  /**
   * Searches files of one language. A pattern that is nothing as written, or does not parse so, is read within other
   * code, as grammars read most code only in its place.
   */
  async searchLanguage(language: Language, files: readonly StructuralSubject[]): Promise<void> {
    const { pattern, selector, debug_query } = this.call.input
    if (language === embedded || pattern === undefined || selector !== undefined || this.known.has(language.id)) {
      this.attempts.push(await this.attempt(language, files, this.known.get(language.id)))
      return
    }
    const reader = await this.createReader(language)
    const first = await this.attempt(language, files, await reader.findStatement(pattern))
    const isShort = pattern.length <= MAX_REREAD_UNITS
    const shouldReread = isShort && debug_query === undefined && canReread(first)
    this.attempts.push(
      shouldReread && (files.length > 0 || isFaulty(first)) ? await this.reread(first, reader, pattern) : first,
    )
  }

  /** Tries the other readings of a pattern until one matches. */
  private async reread(first: Attempt, reader: PatternReader, pattern: string): Promise<Attempt> {
    let best = first
    const { language, files, reading } = first
    const others = (await reader.findReadings(pattern)).filter(({ shape }) => shape !== reading?.shape)
    for (const other of [...(reading ? [undefined] : []), ...others]) {
      const attempt = await this.attempt(language, files, other)
      if (attempt.search.total > 0) return attempt
      if (isFaulty(best) && !isFaulty(attempt)) best = attempt
    }
    return best
  }

  private async attempt(
    language: Language,
    files: readonly StructuralSubject[],
    reading: PatternReading | undefined,
    found = this.found,
    side = this.side,
  ): Promise<Attempt> {
    const { pattern, selector } = reading ?? this.call.input
    const input = {
      ...this.call.input,
      ...(pattern !== undefined && { pattern }),
      ...(selector !== undefined && { selector }),
    }
    const search = new LanguageSearch(this.context, { ...this.call, input }, language, this.config, found, side)
    // Code around a pattern is tried only where it parses.
    const both = [
      search.searchFiles(files),
      reading || language === embedded ? false : this.isFragment(language),
    ] as const
    await Promise.allSettled(both)
    const [, isFragment] = await Promise.all(both)
    return { language, files, reading, search, isFragment }
  }

  /** Returns whether the pattern as written has syntax errors. */
  private async isFragment(language: Language): Promise<boolean> {
    const { pattern } = this.call.input
    if (pattern === undefined) return false
    const library = await loadLibrary(language, this.call.input)
    return library ? hasErrorInProcess(library, pattern, language) : hasError(pattern, language, this.context)
  }

  private async createReader(language: Language): Promise<PatternReader> {
    return new PatternReader(language, await loadLibrary(language, this.call.input), this.context)
  }

  /** Lists possible gaps: files with syntax errors, languages that reject the pattern. */
  listIssues(): { file?: string; language?: string; reason: string }[] {
    const files = [...new Set(this.side.broken)].sort(comparePaths).map((file) => ({ file, reason: 'syntax error' }))
    return [
      ...files,
      ...this.listRefused().map(({ language, search }) => ({
        language: language.title,
        reason: search.refusal!.problem.message,
      })),
    ]
  }

  private listRefused(): Attempt[] {
    return this.attempts.filter(({ language, search }) => search.refusal && language !== embedded)
  }

  /** Throws if no language could be searched, or nothing was found for what is no code; returns other problems. */
  async reportOutcome(): Promise<Notice[]> {
    const searched = this.attempts.filter(({ language }) => language !== embedded)
    const refused = this.listRefused()
    const fragments = searched.filter(({ isFragment, search }) => isFragment && !search.refusal)
    if (this.found.total === 0) await this.refuseEmpty(searched, refused, fragments)
    const notices = [...describeReadings(searched), ...describeRefused(refused), ...this.describeLength()]
    if (fragments.length > 0)
      notices.unshift(
        notice(
          'VT_SEARCH_FRAGMENT',
          `The pattern is only a fragment of ${formatNames(fragments.map(({ language }) => language.title))}; ` +
            'matches may be missing.',
        ),
      )
    else if (this.found.total === 0 && searched.length === 1 && !searched[0]!.reading)
      notices.unshift(...(await this.checkIncomplete(searched[0]!.language)))
    return [...notices, ...describeSide(this.side)]
  }

  private describeLength(): Notice[] {
    const { pattern = '', selector } = this.call.input
    if (this.found.total > 0 || selector !== undefined || pattern.length <= MAX_REREAD_UNITS) return []
    const message = `No match. A pattern over ${MAX_REREAD_UNITS} characters is read only as written; shorten it.`
    return [notice('VT_SEARCH_FRAGMENT', message)]
  }

  /** Throws the reason for an empty answer if the pattern is at fault. */
  private async refuseEmpty(searched: Attempt[], refused: Attempt[], fragments: Attempt[]): Promise<void> {
    const { pattern } = this.call.input
    const whole = await this.findWhole(searched)
    const [first, partial] = [refused[0], fragments[0]]
    const refuseFragment = ({ title }: Language) => createFragmentRefusal(title, this.call, this.side.debug, whole)
    if (whole && whole.total > 0) throw refuseFragment(whole.language)
    if (first && refused.length >= searched.length) throw await this.locate(first.search.refusal!, first.language)
    if (partial && refused.length + fragments.length >= searched.length)
      throw await this.locate(refuseFragment(partial.language), partial.language)
    if (pattern !== undefined && isProse(pattern) && searched.length > 0) throw createProseRefusal(this.call)
  }

  /** Finds the whole pattern that begins with the pattern, which may be a header: one with matches, or else any. */
  private async findWhole(searched: readonly Attempt[]): Promise<(WholePattern & { language: Language }) | undefined> {
    const { pattern, selector } = this.call.input
    if (pattern === undefined || pattern.length > MAX_REREAD_UNITS || selector !== undefined) return undefined
    let any: (WholePattern & { language: Language }) | undefined
    for (const one of searched) {
      const { language, files } = one
      if (!canReread(one) || (files.length === 0 && !isFaulty(one))) continue
      for (const { whole, readings } of await (await this.createReader(language)).completePattern(pattern)) {
        any ??= { pattern: whole, total: 0, language }
        for (const reading of files.length > 0 ? readings : []) {
          const { search } = await this.attempt(language, files, reading, new FoundMatches(0), createSide())
          if (search.total > 0) return { pattern: whole, total: search.total, language }
        }
      }
    }
    return any
  }

  /** Returns a notice if the parser silently added a missing token to the pattern. */
  private async checkIncomplete(language: Language): Promise<Notice[]> {
    const { pattern } = this.call.input
    if (pattern === undefined) return []
    const library = await loadLibrary(language, this.call.input)
    const place =
      library && isComplete(library, pattern, language) ? undefined : await findGap(pattern, language, this.context)
    return place
      ? [
          notice(
            'VT_SEARCH_FRAGMENT',
            `Nothing matched, and the pattern is not whole ${language.title} code. ${describePlace(place)}`,
          ),
        ]
      : []
  }

  private locate(error: VtError, language: Language): Promise<VtError> {
    return locateError(error, this.call.input.pattern, language, this.context)
  }
}

const createSide = (): Side => ({ unread: [], large: [], broken: [], withheld: 0, stopped: false })

const isFaulty = ({ search, isFragment }: Attempt): boolean => search.refusal !== undefined || isFragment

/** Returns whether another reading may answer: nothing was found, and for no other reason than the pattern. */
const canReread = ({ search }: Attempt): boolean =>
  search.total === 0 && (search.refusal === undefined || search.refusal.code === 'VT_SEARCH_PATTERN')
