import { VtError, type Context } from '../../../core/index.js'
import { comparePaths, pluralize, notice, createSlotError, formatNames } from '../../lib/base/index.js'
import { createLineReader } from '../../lib/process/index.js'
import { MAX_PARSED_BYTES, PARSER_MEMORY_BYTES, tooHardToParse } from '../../lib/search/index.js'
import {
  runAstGrep,
  InstallProblem,
  parseReasons,
  type AstGrepEnd,
  type Language,
  type Library,
  canSearchPages,
  extractCode,
} from '../../lib/syntax/index.js'
import { toProgramArguments, toCombinedArguments, toErrorArguments, canExplain, isError } from './arguments.js'
import { FoundMatches } from './found_matches.js'
import { loadLibrary, searchTexts } from './in_process.js'
import { toLazyMatch, parseLazyMatch } from './lazy_match.js'
import { withLinks, type Linked } from './links.js'
import { sumSizes, closeAll, hasIgnoreComments, openAll, readTexts, type OpenSubject } from './open_subjects.js'
import { findGap, hasError, hasErrorInProcess, isComplete, hasErrorNode, parseTree } from './pattern_errors.js'
import { engineMissing, createFragmentRefusal, toRefusal, describePlace, locateError } from './refusals.js'
import { embedded, type StructuralSubject } from './subjects.js'
import type { Findings, Reported, StructuralCall } from './types.js'

/** A query with more matches is stopped. */
const MAX_MATCHES = 50_000
const BATCH_SIZE = 400
/** Bytes of files up to which the program also finds syntax errors. */
const MAX_CHECKED_BYTES = 1_048_576
/** Bytes of files parsed in this process; for more, the program is faster. */
const MAX_IN_PROCESS_BYTES = 262_144
/** Output limit of the program in one run, in bytes. */
const MAX_OUTPUT_BYTES = 1_073_741_824

/** Runs one query and collects its results. */
export class Search {
  readonly found: FoundMatches
  debug: string | undefined
  private readonly refusals: { language: Language; error: VtError }[] = []
  private readonly fragments = new Set<Language>()
  /** Languages in which the pattern was checked. */
  private readonly asked = new Set<Language>()
  private readonly searched: Language[] = []
  readonly unread: string[] = []
  private readonly broken: string[] = []
  readonly large: string[] = []
  private withheld = 0
  private stopped = false

  constructor(
    private readonly context: Context,
    private readonly call: StructuralCall,
    /** The project file, if only the program supports its languages. */
    private readonly config: string | undefined,
  ) {
    this.found = new FoundMatches(call.input.skip + call.input.max_results)
  }

  /** Searches files of one language and checks the pattern. */
  async searchLanguage(language: Language, files: StructuralSubject[]): Promise<void> {
    if (language === embedded) return this.searchFiles(language, files)
    const { input } = this.call
    await settleBoth(
      this.searchFiles(language, files),
      canExplain(input, language, this.config) ? undefined : this.checkPattern(language),
    )
    this.searched.push(language)
  }

  /** Checks once per language whether the pattern has syntax errors. */
  private async checkPattern(language: Language): Promise<void> {
    const { input } = this.call
    if (input.pattern === undefined || this.asked.has(language)) return
    this.asked.add(language)
    const library = await loadLibrary(language, input)
    if (
      library
        ? hasErrorInProcess(library, input.pattern, language)
        : await hasError(input.pattern, language, this.context)
    )
      this.fragments.add(language)
  }

  /** Searches files in batches; opens the next batch during the search of the current one. */
  private async searchFiles(language: Language, files: StructuralSubject[]): Promise<void> {
    await using opener = this.context.workspace.createFileOpener()
    const open = (at: number) => openAll(opener, files.slice(at, at + BATCH_SIZE), language, this.call.input.path, this)
    let next: Promise<OpenSubject[]> | undefined = open(0)
    try {
      for (let at = BATCH_SIZE; next; at += BATCH_SIZE) {
        const opened: OpenSubject[] = await next
        const searching = this.searchOpened(language, opened).finally(() => closeAll(opened))
        next = at < files.length ? open(at) : undefined
        // An early rejection must not be unhandled.
        next?.catch(() => {})
        if (!(await searching)) return
      }
    } finally {
      await closeAll((await next?.catch(() => [])) ?? [])
    }
  }

  /** Searches open files. Returns false when the search of this language must stop. */
  private async searchOpened(language: Language, opened: OpenSubject[]): Promise<boolean> {
    const hosts = opened.filter(({ host }) => host !== undefined)
    if (hosts.length > 0) {
      if (!(await this.searchHosts(language, hosts))) return false
      opened = opened.filter(({ host }) => host === undefined)
      if (opened.length === 0) return true
    }
    const bytes = sumSizes(opened)
    const library =
      this.config === undefined && opened.length > 0 && bytes <= MAX_IN_PROCESS_BYTES
        ? await loadLibrary(language, this.call.input)
        : undefined
    return library
      ? this.searchByLibrary(library, language, opened)
      : this.searchByProgram(language, opened, bytes <= MAX_CHECKED_BYTES)
  }

  /** Searches files that embed the language: small pages in this process, other files by the program. */
  private async searchHosts(language: Language, opened: OpenSubject[]): Promise<boolean> {
    const library =
      this.config === undefined && canSearchPages(this.call.input)
        ? await loadLibrary(language, this.call.input)
        : undefined
    const isPage = ({ host, handle }: OpenSubject): boolean =>
      library !== undefined && host === 'html' && handle.stat.bytes <= MAX_CHECKED_BYTES
    const [pages, others] = [opened.filter(isPage), opened.filter((one) => !isPage(one))]
    if (library && pages.length > 0 && !(await this.searchByLibrary(library, language, pages, true))) return false
    return (
      others.length === 0 ||
      this.searchByProgram(language, others, language !== embedded && sumSizes(others) <= MAX_CHECKED_BYTES)
    )
  }

  /** Searches in this process; passes files with syntax errors to the program. */
  private async searchByLibrary(
    library: Library,
    language: Language,
    opened: OpenSubject[],
    pages = false,
  ): Promise<boolean> {
    const unread: string[] = []
    const unparsed = new Set<string>()
    const texts = readTexts(opened, unread, pages ? (text) => extractCode(text, language) : undefined, unparsed)
    const until = performance.now() + this.context.host.timeouts.engine
    const hasTimedOut = (): boolean => performance.now() > until
    try {
      const found = await searchTexts(
        library,
        texts,
        language,
        this.call.input,
        () => this.context.signal.aborted || hasTimedOut(),
      )
      if (!found) return this.searchByProgram(language, opened, true)
      this.addFindings({ matches: found.matches.map((native) => toLazyMatch(native)), broken: new Map(), unread })
      if (found.stopped)
        return this.applyEnd({ exit_code: undefined, timed_out: hasTimedOut(), stopped: true, stderr: '' }, language)
      await this.checkPattern(language)
      const rest = opened.filter(({ path }) => found.broken.has(path) || unparsed.has(path))
      return rest.length === 0 || (await this.searchByProgram(language, rest, true))
    } catch (error) {
      if (error instanceof VtError) throw error
      // Messages of the library differ in punctuation only.
      return this.applyEnd(
        { exit_code: 8, timed_out: false, stopped: false, stderr: (error as Error).message.replaceAll('|->', '╰▻ ') },
        language,
      )
    }
  }

  /** Searches by the program. `check`: also finds syntax errors, in the same run where possible. */
  private async searchByProgram(language: Language, opened: OpenSubject[], check: boolean): Promise<boolean> {
    const { input } = this.call
    const isPlain =
      check && this.config === undefined && opened.length > 0 && opened.every(({ host }) => host === undefined)
    const together = isPlain ? toCombinedArguments(input, language) : undefined
    const atOnce = together && !(await hasIgnoreComments(opened)) ? together : undefined
    return withLinks(opened, language.extensions[0] ?? 'txt', async (linked) => {
      const paths = new Map(linked.names.map((name, index) => [name, opened[index]!.path]))
      const pathByName = (name: string) => paths.get(name) ?? name
      const findings: Findings = { matches: [], broken: new Map(), unread: [] }
      const ask = this.createRunner(opened, linked)
      const takeError = (line: Buffer) => {
        const { file, start, end } = parseLazyMatch(line, pathByName)
        findings.broken.set(file, [...(findings.broken.get(file) ?? []), { start, end }])
      }
      const takeMatch = (line: Buffer) => {
        const match = parseLazyMatch(line, pathByName)
        if (language === embedded && match.read().language === 'Html') return undefined
        // Replacements inside syntax errors are known only after the last match.
        if (input.workflow === 'rewrite') findings.matches.push(match)
        else this.found.add(match)
        this.stopped ||= this.found.total + findings.matches.length >= MAX_MATCHES
        return this.stopped ? false : undefined
      }
      const asked = atOnce
        ? settleBoth(
            ask(atOnce, (line) => (isError(line) ? takeError(line) : takeMatch(line))),
            this.checkPattern(language),
          )
        : settleBoth(
            ask(toProgramArguments(input, language, this.config), takeMatch),
            check && opened.length > 0 ? ask(toErrorArguments(language), takeError) : undefined,
          )
      let [{ answered, missing }] = await asked
      // A refusal of the rule differs from that of the query, so the query runs again without a rule.
      if (atOnce && (answered?.exit_code === 2 || answered?.exit_code === 8))
        ({ answered, missing } = await ask(toProgramArguments(input, language, this.config), takeMatch))
      if (!answered) return this.refuse(language, engineMissing(missing))
      for (const [, name, why] of answered.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm))
        findings.unread.push(`${pathByName(name!)}: ${why}`)
      this.addFindings(findings)
      return this.applyEnd(answered, language, opened)
    })
  }

  /** Creates a function that runs the program on linked files. */
  private createRunner(opened: OpenSubject[], { folder, names, empty }: Linked) {
    const limited = opened.some(({ handle }) => handle.stat.bytes > MAX_PARSED_BYTES) && {
      resident: PARSER_MEMORY_BYTES,
    }
    const files = names.length > 0 ? names : [empty]
    let reported = 0
    const limitOutput = (take: (line: Buffer) => void | false) => (line: Buffer) => {
      reported += line.length
      this.stopped ||= reported > MAX_OUTPUT_BYTES
      return this.stopped ? false : take(line)
    }
    return async (
      args: string[],
      take: (line: Buffer) => void | false,
    ): Promise<{ answered?: AstGrepEnd | undefined; missing?: string }> => {
      try {
        return {
          answered: await runAstGrep(
            this.context,
            [...args, '--', ...files],
            { cwd: folder, seconds: this.resolveTimeoutMs(opened) / 1000, ...limited },
            createLineReader(limitOutput(take), 67_108_864).take,
          ),
        }
      } catch (error) {
        if (error instanceof InstallProblem) return { missing: error.message }
        throw error
      }
    }
  }

  /**
   * Returns the time limit of the program, in milliseconds; lower for a single file, because the program prints a line
   * once for each match in it.
   */
  private resolveTimeoutMs(opened: readonly OpenSubject[]): number {
    const { engine, single_file } = this.context.host.timeouts
    return opened.length === 1 && opened[0]!.handle.stat.bytes <= MAX_PARSED_BYTES
      ? Math.min(engine, single_file)
      : engine
  }

  private addFindings({ matches, broken, unread }: Findings): void {
    this.unread.push(...unread)
    this.broken.push(...broken.keys())
    // Replacements inside syntax errors are unsafe.
    const sound =
      this.call.input.workflow !== 'rewrite'
        ? matches
        : matches.filter(
            (match) => !broken.get(match.file)?.some(({ start, end }) => start >= match.start && end <= match.end),
          )
    this.withheld += matches.length - sound.length
    for (const match of sound) this.found.add(match)
  }

  private applyEnd(answered: AstGrepEnd, language: Language, files: readonly OpenSubject[] = []): boolean {
    const { input } = this.call
    if (answered.timed_out && this.found.total === 0) {
      // A single file cannot be narrowed.
      if (files[0]?.path === input.path) throw tooHardToParse(input.path)
      throw createSlotError(
        'VT_SEARCH_TIMEOUT',
        `Nothing was found in '${input.path}' within ${this.resolveTimeoutMs(files) / 1000} s.`,
        { retryable: true },
      )
    }
    if (answered.overLimit) throw tooHardToParse(files[0]?.path ?? input.path)
    this.stopped ||= answered.timed_out
    if (answered.exit_code === undefined && !answered.stopped && !answered.timed_out) {
      throw createSlotError('VT_SEARCH_FAILED', 'ast-grep ended by a signal.', {
        details: { stderr: parseReasons(answered.stderr) },
      })
    }
    const tree = parseTree(answered.stderr)
    if (input.debug_query !== undefined) this.debug = tree ?? ''
    if (canExplain(input, language, this.config) && hasErrorNode(tree)) this.fragments.add(language)
    const error = toRefusal(answered, language.title, this.call)
    return error ? this.refuse(language, error) : !this.stopped
  }

  private refuse(language: Language, error: VtError): false {
    if (language === embedded || this.refusals.some((one) => one.language === language)) return false
    this.refusals.push({ language, error })
    return false
  }

  /** Returns a notice if the parser silently added a missing token to the pattern. */
  private async checkIncomplete(): Promise<Reported['notices']> {
    const { pattern } = this.call.input
    const [language] = this.searched
    if (pattern === undefined || !language) return []
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

  /** Lists possible gaps: files with syntax errors, languages that reject the pattern. */
  listIssues(): { file?: string; language?: string; reason: string }[] {
    const files = [...new Set(this.broken)].sort(comparePaths).map((file) => ({ file, reason: 'syntax error' }))
    return [
      ...files,
      ...this.refusals.map(({ language, error }) => ({ language: language.title, reason: error.problem.message })),
    ]
  }

  /** Throws if no language could be searched; adds notices for other problems. */
  async reportOutcome(languages: number, notices: Reported['notices']): Promise<void> {
    const [first] = this.refusals
    if (first && this.refusals.length >= languages) throw await this.locate(first.error, first.language)
    const [partial] = this.fragments
    if (partial && this.found.total === 0 && this.refusals.length + this.fragments.size >= languages) {
      throw await this.locate(createFragmentRefusal(partial.title, this.call, this.debug), partial)
    }
    if (partial)
      notices.push(
        notice(
          'VT_SEARCH_FRAGMENT',
          `The pattern is only a fragment of ${formatNames([...this.fragments].map(({ title }) => title))}; ` +
            'matches may be missing.',
        ),
      )
    else if (this.found.total === 0 && languages === 1) notices.push(...(await this.checkIncomplete()))
    const titles = (missing: boolean) =>
      this.refusals
        .filter(({ error }) => (error.code === 'VT_SEARCH_ENGINE_MISSING') === missing)
        .map(({ language }) => language.title)
    if (titles(false).length > 0)
      notices.push(
        notice(
          'VT_SEARCH_LANG_SKIPPED',
          `The pattern is not valid code of ${formatNames(titles(false))}; give lang for the reason.`,
        ),
      )
    if (titles(true).length > 0)
      notices.push(
        notice('VT_SEARCH_LANG_SKIPPED', `Not searched without the ast-grep program: ${formatNames(titles(true))}.`),
      )
    if (this.broken.length > 0) {
      const withheld =
        this.withheld > 0 ? `; left out: ${pluralize(this.withheld, 'replacement')} in syntax errors` : ''
      notices.push(
        notice(
          'VT_SEARCH_PARSE',
          `${pluralize(this.broken.length, 'file')} with syntax errors, searched anyway: ` +
            `${formatNames(this.broken.sort())}${withheld}`,
        ),
      )
    }
    if (this.unread.length > 0) notices.push(notice('VT_SEARCH_PARTIAL', `Not read: ${formatNames(this.unread, 5)}`))
    if (this.large.length > 0)
      notices.push(
        notice(
          'VT_SEARCH_SKIPPED',
          `${pluralize(this.large.length, 'file')} over 8 MiB, left out: ${formatNames(this.large)}. ` +
            'Name one as path to search it.',
        ),
      )
    if (this.stopped)
      notices.push(
        notice(
          'VT_SEARCH_INCOMPLETE',
          'The search stopped at its limit; the totals are lower bounds. Narrow path or globs.',
        ),
      )
  }
}

async function settleBoth<A, B>(one: Promise<A>, other: B): Promise<[A, Awaited<B>]> {
  await Promise.allSettled([one, other])
  return Promise.all([one, other])
}
