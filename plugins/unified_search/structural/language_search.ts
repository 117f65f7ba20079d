import { VtError, type Context } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { tooHardToParse } from '../../lib/search/index.js'
import {
  parseReasons,
  type AstGrepEnd,
  type Language,
  type Library,
  canSearchPages,
  withLinks,
  extractCode,
} from '../../lib/syntax/index.js'
import { parseTree } from '../../lib/patterns/index.js'
import { toProgramArguments, toCombinedArguments, toErrorArguments, isError } from './arguments.js'
import type { FoundMatches } from './found_matches.js'
import { loadLibrary, searchTexts } from './in_process.js'
import { toLazyMatch } from './lazy_match.js'
import { sumSizes, closeAll, hasIgnoreComments, openAll, readTexts, type OpenSubject } from './open_subjects.js'
import { createBatchRun, resolveTimeoutMs, type BatchAnswer, type BatchRun } from './batch_run.js'
import { engineMissing, toRefusal } from './refusals.js'
import { embedded, type StructuralSubject } from './subjects.js'
import type { Findings, LazyMatch, StructuralCall } from './types.js'

const BATCH_SIZE = 400
/** Bytes of files up to which the program also finds syntax errors. */
const MAX_CHECKED_BYTES = 1_048_576
/** Bytes of files parsed in this process; for more, the program is faster. */
const MAX_IN_PROCESS_BYTES = 262_144
/** Output limit of the program in one run, in bytes. */
const MAX_OUTPUT_BYTES = 1_073_741_824

/** Findings of all languages besides matches. */
export interface Side {
  /** Unreadable files with the reason, large ones, and those with syntax errors; repeated for each reading. */
  unread: string[]
  large: string[]
  broken: string[]
  /** Replacements left out because of syntax errors. */
  withheld: number
  /** A search stopped at a limit. */
  stopped: boolean
  debug?: string
}

/** Searches files of one language for one reading of the pattern. */
export class LanguageSearch {
  /** The reason why the pattern cannot be searched. */
  refusal: VtError | undefined
  /** Matches of this language, unsafe replacements included. */
  total = 0
  private stopped = false
  private reported = 0

  constructor(
    private readonly context: Context,
    private readonly call: StructuralCall,
    private readonly language: Language,
    /** The project file, if only the program supports its languages. */
    private readonly config: string | undefined,
    private readonly found: FoundMatches,
    private readonly side: Side,
  ) {}

  /** Searches files in batches; opens the next batch during the search of the current one. */
  async searchFiles(files: readonly StructuralSubject[]): Promise<void> {
    await using opener = this.context.workspace.createFileOpener()
    const open = (at: number) =>
      openAll(opener, files.slice(at, at + BATCH_SIZE), this.language, this.call.input.path, this.side)
    let next: Promise<OpenSubject[]> | undefined = open(0)
    try {
      for (let at = BATCH_SIZE; next; at += BATCH_SIZE) {
        const opened: OpenSubject[] = await next
        const searching = this.searchOpened(opened).finally(() => closeAll(opened))
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
  private async searchOpened(opened: OpenSubject[]): Promise<boolean> {
    const hosts = opened.filter(({ host }) => host !== undefined)
    if (hosts.length > 0) {
      if (!(await this.searchHosts(hosts))) return false
      opened = opened.filter(({ host }) => host === undefined)
      if (opened.length === 0) return true
    }
    const bytes = sumSizes(opened)
    const library =
      this.config === undefined && opened.length > 0 && bytes <= MAX_IN_PROCESS_BYTES
        ? await loadLibrary(this.language, this.call.input)
        : undefined
    return library ? this.searchByLibrary(library, opened) : this.searchByProgram(opened, bytes <= MAX_CHECKED_BYTES)
  }

  /** Searches files that embed the language: small pages in this process, other files by the program. */
  private async searchHosts(opened: OpenSubject[]): Promise<boolean> {
    const library =
      this.config === undefined && canSearchPages(this.call.input)
        ? await loadLibrary(this.language, this.call.input)
        : undefined
    const isPage = ({ host, handle }: OpenSubject): boolean =>
      library !== undefined && host === 'html' && handle.stat.bytes <= MAX_CHECKED_BYTES
    const [pages, others] = [opened.filter(isPage), opened.filter((one) => !isPage(one))]
    if (library && pages.length > 0 && !(await this.searchByLibrary(library, pages, true))) return false
    return (
      others.length === 0 ||
      this.searchByProgram(others, this.language !== embedded && sumSizes(others) <= MAX_CHECKED_BYTES)
    )
  }

  /** Searches in this process; passes files with syntax errors to the program. */
  private async searchByLibrary(library: Library, opened: OpenSubject[], pages = false): Promise<boolean> {
    const { language } = this
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
      if (!found) return this.searchByProgram(opened, true)
      this.addFindings({ matches: found.matches.map((native) => toLazyMatch(native)), broken: new Map(), unread })
      if (found.stopped)
        return this.applyEnd({ exit_code: undefined, timed_out: hasTimedOut(), stopped: true, stderr: '' })
      const rest = opened.filter(({ path }) => found.broken.has(path) || unparsed.has(path))
      return rest.length === 0 || (await this.searchByProgram(rest, true))
    } catch (error) {
      if (error instanceof VtError) throw error
      // Messages of the library differ in punctuation only.
      return this.applyEnd({
        exit_code: 8,
        timed_out: false,
        stopped: false,
        stderr: (error as Error).message.replaceAll('|->', '╰▻ '),
      })
    }
  }

  /** Searches by the program. `check`: also finds syntax errors, in the same run where possible. */
  private async searchByProgram(opened: OpenSubject[], check: boolean): Promise<boolean> {
    const together = check ? await this.combineRules(opened) : undefined
    return withLinks(opened, this.language.extensions[0] ?? 'txt', async (linked) => {
      const run = createBatchRun(this.context, opened, linked, {
        take: (match, broken) => this.takeMatch(match, broken),
        shouldStop: (bytes) => (this.stopped ||= (this.reported += bytes) > MAX_OUTPUT_BYTES),
      })
      const { answered, missing } = await (together
        ? this.runCombined(run, together)
        : this.runPlain(run, check && opened.length > 0))
      if (!answered) {
        this.refusal ??= engineMissing(missing)
        return false
      }
      const unread = [...answered.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm)].map(
        ([, name, why]) => `${run.pathByName(name!)}: ${why}`,
      )
      this.addFindings({ matches: [], broken: run.broken, unread })
      return this.applyEnd(answered, opened)
    })
  }

  /** Runs one rule for matches and one for errors. A refusal of a rule has other words, so the query runs then. */
  private async runCombined(run: BatchRun, args: string[]): Promise<BatchAnswer> {
    const ended = await run.ask(args, (line) => (isError(line) ? run.takeError(line) : run.takeMatch(line)))
    const isRefused = ended.answered?.exit_code === 2 || ended.answered?.exit_code === 8
    return isRefused ? this.runPlain(run, false) : ended
  }

  private async runPlain(run: BatchRun, check: boolean): Promise<BatchAnswer> {
    const { input } = this.call
    const findErrors = () => (check ? run.ask(toErrorArguments(this.language), run.takeError) : undefined)
    // Replacements inside syntax errors are unsafe, so a rewrite needs the errors first.
    if (input.workflow === 'rewrite') await findErrors()
    const both = [
      run.ask(toProgramArguments(input, this.language, this.config), run.takeMatch),
      input.workflow === 'rewrite' ? undefined : findErrors(),
    ] as const
    await Promise.allSettled(both)
    const [ended] = await Promise.all(both)
    return ended
  }

  /** Returns the arguments of one run for matches and syntax errors; `undefined` where the answer would differ. */
  private async combineRules(opened: OpenSubject[]): Promise<string[] | undefined> {
    const isPlain = this.config === undefined && opened.length > 0 && opened.every(({ host }) => host === undefined)
    const together = isPlain ? toCombinedArguments(this.call.input, this.language) : undefined
    return together && !(await hasIgnoreComments(opened)) ? together : undefined
  }

  private takeMatch(match: LazyMatch, broken: Findings['broken']): void {
    if (this.language === embedded && match.read().language === 'Html') return
    const isUnsafe =
      this.call.input.workflow === 'rewrite' &&
      broken.get(match.file)?.some(({ start, end }) => start >= match.start && end <= match.end)
    this.total++
    if (isUnsafe) this.side.withheld++
    else this.found.add(match)
  }

  private addFindings({ matches, broken, unread }: Findings): void {
    this.side.unread.push(...unread)
    this.side.broken.push(...broken.keys())
    this.total += matches.length
    for (const match of matches) this.found.add(match)
  }

  private applyEnd(answered: AstGrepEnd, files: readonly OpenSubject[] = []): boolean {
    const { input } = this.call
    this.requireAnswer(answered, files)
    this.stopped ||= answered.timed_out
    this.side.stopped ||= this.stopped
    if (input.debug_query !== undefined) this.side.debug = parseTree(answered.stderr) ?? ''
    const error = toRefusal(answered, this.language.title, this.call)
    if (error) this.refusal ??= error
    return !error && !this.stopped
  }

  /** Throws if the program was too slow or used too much memory, or died. */
  private requireAnswer(answered: AstGrepEnd, files: readonly OpenSubject[]): void {
    const { path } = this.call.input
    if (answered.timed_out && this.found.total === 0) {
      // A single file cannot be narrowed.
      if (files[0]?.path === path) throw tooHardToParse(path)
      throw createSlotError(
        'VT_SEARCH_TIMEOUT',
        `Nothing was found in '${path}' within ${resolveTimeoutMs(this.context, files) / 1000} s.`,
        { retryable: true },
      )
    }
    if (answered.overLimit) throw tooHardToParse(files[0]?.path ?? path)
    if (answered.exit_code === undefined && !answered.stopped && !answered.timed_out) {
      throw createSlotError('VT_SEARCH_FAILED', 'ast-grep ended by a signal.', {
        details: { stderr: parseReasons(answered.stderr) },
      })
    }
  }
}
