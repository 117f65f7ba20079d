import { VtError, type Context } from '../../../core/index.js'
import { comparePaths, pluralize, notice, createSlotError, some } from '../../lib/base/index.js'
import { lines } from '../../lib/process/index.js'
import { MAX_PARSED_BYTES, PARSER_MEMORY_BYTES, tooHardToParse } from '../../lib/search/index.js'
import {
  runAstGrep,
  InstallProblem,
  parseReasons,
  type AstGrepEnd,
  type Language,
  type Library,
} from '../../lib/syntax/index.js'
import { argumentsFor, argumentsForBoth, errorArguments, explains, isError } from './binary.js'
import { FoundMatches } from './found.js'
import { libraryFor, lookInProcess } from './in_process.js'
import { keptMatch, keptIn } from './kept.js'
import { withLinks, type Linked } from './links.js'
import { sizeOfOpen, closeAll, hidesMatches, openAll, textsOf, type OpenSubject } from './opened.js'
import { asksPages, codeIn } from './pages.js'
import { errorPlace, gapPlace, holdsError, holdsErrorHere, lacksNothing, showsError, treeIn } from './pattern_errors.js'
import { engineMissing, fragment, placed, refused, saidOf } from './refuse.js'
import { embedded, type StructuralSubject } from './subjects.js'
import type { Looked, Reported, StructuralCall } from './types.js'

/** Matches that are counted; a query with more is stopped. */
const most = 50_000
/** Files that are open at the same time. */
const batch = 400
/** Bytes up to which the program is asked a second time, for what does not parse. */
const mostChecked = 1_048_576
/** Bytes that are parsed in this process; for more the program is faster and can be stopped. */
const mostInProcess = 262_144
/** Bytes that the program may tell in one run. */
const mostTold = 1_073_741_824

const aboutPattern = new Set(['VT_SEARCH_PATTERN', 'VT_SEARCH_FRAGMENT'])

/** What the runs of one query came to. */
export class Search {
  readonly found: FoundMatches
  debug: string | undefined
  private readonly refusals: { language: Language; error: VtError }[] = []
  private readonly fragments = new Set<Language>()
  /** Those in whose words it was asked whether the pattern parses. */
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
    /** The project file, where only the program knows what it says. */
    private readonly config: string | undefined,
  ) {
    this.found = new FoundMatches(call.input.skip + call.input.max_results)
  }

  /** Looks for the pattern in files of one language, and into the pattern itself. */
  async language(language: Language, files: StructuralSubject[]): Promise<void> {
    if (language === embedded) return this.look(language, files)
    const { input } = this.call
    await both(this.look(language, files), explains(input, language, this.config) ? undefined : this.doubt(language))
    this.searched.push(language)
  }

  /** Asks once whether the pattern holds what does not parse. */
  private async doubt(language: Language): Promise<void> {
    const { input } = this.call
    if (input.pattern === undefined || this.asked.has(language)) return
    this.asked.add(language)
    const library = await libraryFor(language, input)
    if (
      library
        ? holdsErrorHere(library, input.pattern, language)
        : await holdsError(input.pattern, language, this.context)
    )
      this.fragments.add(language)
  }

  /** Some files at a time; the next are opened while the program reads those before. */
  private async look(language: Language, files: StructuralSubject[]): Promise<void> {
    await using opener = this.context.workspace.createFileOpener()
    const open = (at: number) => openAll(opener, files.slice(at, at + batch), language, this.call.input.path, this)
    let next: Promise<OpenSubject[]> | undefined = open(0)
    try {
      for (let at = batch; next; at += batch) {
        const opened: OpenSubject[] = await next
        const looking = this.files(language, opened).finally(() => closeAll(opened))
        next = at < files.length ? open(at) : undefined
        // It may fail before anybody waits for it.
        next?.catch(() => {})
        if (!(await looking)) return
      }
    } finally {
      await closeAll((await next?.catch(() => [])) ?? [])
    }
  }

  /** False when there is no use in going on with this language. */
  private async files(language: Language, opened: OpenSubject[]): Promise<boolean> {
    const hosts = opened.filter(({ host }) => host !== undefined)
    if (hosts.length > 0) {
      if (!(await this.hosts(language, hosts))) return false
      opened = opened.filter(({ host }) => host === undefined)
      if (opened.length === 0) return true
    }
    const bytes = sizeOfOpen(opened)
    const library =
      this.config === undefined && opened.length > 0 && bytes <= mostInProcess
        ? await libraryFor(language, this.call.input)
        : undefined
    return library ? this.byLibrary(library, language, opened) : this.byProgram(language, opened, bytes <= mostChecked)
  }

  /** Files that embed the language: small pages in this process, what else embeds by the program. */
  private async hosts(language: Language, opened: OpenSubject[]): Promise<boolean> {
    const library =
      this.config === undefined && asksPages(this.call.input) ? await libraryFor(language, this.call.input) : undefined
    const isPage = ({ host, handle }: OpenSubject): boolean =>
      library !== undefined && host === 'html' && handle.stat.bytes <= mostChecked
    const [pages, others] = [opened.filter(isPage), opened.filter((one) => !isPage(one))]
    if (library && pages.length > 0 && !(await this.byLibrary(library, language, pages, true))) return false
    return (
      others.length === 0 ||
      this.byProgram(language, others, language !== embedded && sizeOfOpen(others) <= mostChecked)
    )
  }

  /** In this process; what does not parse is left to the program. */
  private async byLibrary(
    library: Library,
    language: Language,
    opened: OpenSubject[],
    pages = false,
  ): Promise<boolean> {
    const unread: string[] = []
    const unparsed = new Set<string>()
    const texts = textsOf(opened, unread, pages ? (text) => codeIn(text, language) : undefined, unparsed)
    const until = performance.now() + this.context.host.waits.engine
    const timedOut = (): boolean => performance.now() > until
    try {
      const found = await lookInProcess(
        library,
        texts,
        language,
        this.call.input,
        () => this.context.signal.aborted || timedOut(),
      )
      if (!found) return this.byProgram(language, opened, true)
      this.take({ matches: found.matches.map((native) => keptMatch(native)), broken: new Map(), unread })
      if (found.stopped)
        return this.apply({ exit_code: undefined, timed_out: timedOut(), stopped: true, stderr: '' }, language)
      await this.doubt(language)
      const rest = opened.filter(({ path }) => found.broken.has(path) || unparsed.has(path))
      return rest.length === 0 || (await this.byProgram(language, rest, true))
    } catch (error) {
      if (error instanceof VtError) throw error
      // The library says the same as the program, in other punctuation.
      return this.apply(
        { exit_code: 8, timed_out: false, stopped: false, stderr: (error as Error).message.replaceAll('|->', '╰▻ ') },
        language,
      )
    }
  }

  /** `check` asks for what does not parse too, in one run where that can say both. */
  private async byProgram(language: Language, opened: OpenSubject[], check: boolean): Promise<boolean> {
    const { input } = this.call
    const isPlain =
      check && this.config === undefined && opened.length > 0 && opened.every(({ host }) => host === undefined)
    const together = isPlain ? argumentsForBoth(input, language) : undefined
    const atOnce = together && !(await hidesMatches(opened)) ? together : undefined
    return withLinks(opened, language.extensions[0] ?? 'txt', async (linked) => {
      const paths = new Map(linked.names.map((name, index) => [name, opened[index]!.path]))
      const pathOf = (name: string) => paths.get(name) ?? name
      const looked: Looked = { matches: [], broken: new Map(), unread: [] }
      const ask = this.asker(opened, linked)
      const takeError = (line: Buffer) => {
        const { file, start, end } = keptIn(line, pathOf)
        looked.broken.set(file, [...(looked.broken.get(file) ?? []), { start, end }])
      }
      const takeMatch = (line: Buffer) => {
        const match = keptIn(line, pathOf)
        if (language === embedded && match.whole().language === 'Html') return undefined
        // Of those that are to be replaced it is known only behind the last which lie in what does not parse.
        if (input.workflow === 'rewrite') looked.matches.push(match)
        else this.found.add(match)
        this.stopped ||= this.found.total + looked.matches.length >= most
        return this.stopped ? false : undefined
      }
      // The links stay until neither reads them any more.
      const asked = atOnce
        ? both(
            ask(atOnce, (line) => (isError(line) ? takeError(line) : takeMatch(line))),
            this.doubt(language),
          )
        : both(
            ask(argumentsFor(input, language, this.config), takeMatch),
            check && opened.length > 0 ? ask(errorArguments(language), takeError) : undefined,
          )
      let [{ answered, missing }] = await asked
      // What is refused as a rule is refused in other words, or not at all, as what it is.
      if (atOnce && (answered?.exit_code === 2 || answered?.exit_code === 8))
        ({ answered, missing } = await ask(argumentsFor(input, language, this.config), takeMatch))
      if (!answered) return this.refuse(language, engineMissing(missing))
      for (const [, name, why] of answered.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm))
        looked.unread.push(`${pathOf(name!)}: ${why}`)
      this.take(looked)
      return this.apply(answered, language, opened)
    })
  }

  /** Runs the program on linked files; `missing` says why it is not there. */
  private asker(opened: OpenSubject[], { folder, names, empty }: Linked) {
    const limited = opened.some(({ handle }) => handle.stat.bytes > MAX_PARSED_BYTES) && {
      resident: PARSER_MEMORY_BYTES,
    }
    const files = names.length > 0 ? names : [empty]
    let told = 0
    const bounded = (take: (line: Buffer) => void | false) => (line: Buffer) => {
      told += line.length
      this.stopped ||= told > mostTold
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
            { cwd: folder, seconds: this.patience(opened) / 1000, ...limited },
            lines(bounded(take), 67_108_864).take,
          ),
        }
      } catch (error) {
        if (error instanceof InstallProblem) return { missing: error.message }
        throw error
      }
    }
  }

  /**
   * Returns the milliseconds that the program may take for these files. A file alone that takes longer than its own limit is one line with
   * very many matches: the program reports each with its line, and counts the characters before it.
   */
  private patience(opened: readonly OpenSubject[]): number {
    const { engine, single_file } = this.context.host.waits
    return opened.length === 1 && opened[0]!.handle.stat.bytes <= MAX_PARSED_BYTES
      ? Math.min(engine, single_file)
      : engine
  }

  private take({ matches, broken, unread }: Looked): void {
    this.unread.push(...unread)
    this.broken.push(...broken.keys())
    // What does not parse cannot be replaced with any certainty.
    const sound =
      this.call.input.workflow !== 'rewrite'
        ? matches
        : matches.filter(
            (match) => !broken.get(match.file)?.some(({ start, end }) => start >= match.start && end <= match.end),
          )
    this.withheld += matches.length - sound.length
    for (const match of sound) this.found.add(match)
  }

  private apply(answered: AstGrepEnd, language: Language, files: readonly OpenSubject[] = []): boolean {
    const { input } = this.call
    if (answered.timed_out && this.found.total === 0) {
      // Nothing narrower is left to ask for.
      if (files[0]?.path === input.path) throw tooHardToParse(input.path)
      throw createSlotError(
        'VT_SEARCH_TIMEOUT',
        `Nothing was found in '${input.path}' within ${this.patience(files) / 1000} s.`,
        { retryable: true },
      )
    }
    if (answered.overburdened) throw tooHardToParse(files[0]?.path ?? input.path)
    this.stopped ||= answered.timed_out
    if (answered.exit_code === undefined && !answered.stopped && !answered.timed_out) {
      throw createSlotError('VT_SEARCH_FAILED', 'ast-grep ended by a signal.', {
        details: { stderr: parseReasons(answered.stderr) },
      })
    }
    const tree = treeIn(answered.stderr)
    if (input.debug_query !== undefined) this.debug = tree ?? ''
    if (explains(input, language, this.config) && showsError(tree)) this.fragments.add(language)
    const error = refused(answered, language.title, this.call)
    return error ? this.refuse(language, error) : !this.stopped
  }

  private refuse(language: Language, error: VtError): false {
    // Whoever named no language is told of those that files are written in.
    if (language === embedded || this.refusals.some((one) => one.language === language)) return false
    this.refusals.push({ language, error })
    return false
  }

  /** Why a sound pattern may find nothing: a parser silently adds what is missing, such as a bracket. */
  private async incomplete(): Promise<Reported['notices']> {
    const { pattern } = this.call.input
    const [language] = this.searched
    if (pattern === undefined || !language) return []
    const library = await libraryFor(language, this.call.input)
    const place =
      library && lacksNothing(library, pattern, language) ? undefined : await gapPlace(pattern, language, this.context)
    return place
      ? [
          notice(
            'VT_SEARCH_FRAGMENT',
            `Nothing matched, and the pattern is not whole ${language.title} code. ${saidOf(place)}`,
          ),
        ]
      : []
  }

  /** A refusal of the pattern with the place of its error. */
  private async explained(error: VtError, language: Language): Promise<VtError> {
    const { pattern } = this.call.input
    const place =
      pattern === undefined || !aboutPattern.has(error.code)
        ? undefined
        : await errorPlace(pattern, language, this.context)
    return place ? placed(error, place) : error
  }

  /** What may have been missed: files that do not parse, languages that the pattern is no code of. */
  issues(): { file?: string; language?: string; reason: string }[] {
    const files = [...new Set(this.broken)].sort(comparePaths).map((file) => ({ file, reason: 'syntax error' }))
    return [
      ...files,
      ...this.refusals.map(({ language, error }) => ({ language: language.title, reason: error.problem.message })),
    ]
  }

  /** Throws when no language could be searched; what else went wrong becomes a notice. */
  async judge(languages: number, notices: Reported['notices']): Promise<void> {
    const [first] = this.refusals
    if (first && this.refusals.length >= languages) throw await this.explained(first.error, first.language)
    const [partial] = this.fragments
    if (partial && this.found.total === 0 && this.refusals.length + this.fragments.size >= languages) {
      throw await this.explained(fragment(partial.title, this.call, this.debug), partial)
    }
    if (partial)
      notices.push(
        notice(
          'VT_SEARCH_FRAGMENT',
          `The pattern is only a fragment of ${some([...this.fragments].map(({ title }) => title))}; matches may be missing.`,
        ),
      )
    else if (this.found.total === 0 && languages === 1) notices.push(...(await this.incomplete()))
    const titles = (missing: boolean) =>
      this.refusals
        .filter(({ error }) => (error.code === 'VT_SEARCH_ENGINE_MISSING') === missing)
        .map(({ language }) => language.title)
    if (titles(false).length > 0)
      notices.push(
        notice('VT_SEARCH_LANG_SKIPPED', `The pattern is no code of ${some(titles(false))}; give lang to be told why.`),
      )
    if (titles(true).length > 0)
      notices.push(
        notice('VT_SEARCH_LANG_SKIPPED', `Not searched without the ast-grep program: ${some(titles(true))}.`),
      )
    if (this.broken.length > 0) {
      const withheld =
        this.withheld > 0
          ? `; ${pluralize(this.withheld, 'replacement')} of what does not parse ${this.withheld === 1 ? 'is' : 'are'} left out`
          : ''
      notices.push(
        notice(
          'VT_SEARCH_PARSE',
          `${pluralize(this.broken.length, 'file')} with syntax errors, searched anyway: ${some(this.broken.sort())}${withheld}`,
        ),
      )
    }
    if (this.unread.length > 0) notices.push(notice('VT_SEARCH_PARTIAL', `Not read: ${some(this.unread, 5)}`))
    if (this.large.length > 0)
      notices.push(
        notice(
          'VT_SEARCH_SKIPPED',
          `${pluralize(this.large.length, 'file')} over 8 MiB, left out: ${some(this.large)}. Name one as path to search it.`,
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

/** Waits for both, also where one fails. */
async function both<A, B>(one: Promise<A>, other: B): Promise<[A, Awaited<B>]> {
  await Promise.allSettled([one, other])
  return Promise.all([one, other])
}
