import { ok, VtError, type Context, type Handle, type Result } from '../../../core/index.js'
import { count, fitting, notice, refusal, some } from '../../shared/answer.js'
import { astGrep, astGrepPath, reasons, type Answered } from '../../shared/ast_grep.js'
import type { Language } from '../../shared/languages.js'
import { withLinks } from '../../shared/linked.js'
import { byPath } from '../../shared/order.js'
import { lines } from '../../shared/process.js'
import { largestSearched } from '../../shared/ripgrep.js'
import { checkMetavariables, engineMissing, fragment, isFragment, refused } from './refuse.js'
import { requiredWord } from './literal.js'
import { matchOf, renderMatches, renderRewrites } from './shape.js'
import { subjects, type Subject } from './subjects.js'
import type { Expand, Native, Reported, StructuralCall, StructuralInput } from './types.js'

const seconds = 30
/** Matches that are kept in memory; a query with more is stopped. */
const most = 50_000
/** Files that are open at the same time. */
const batch = 400

/** Workflows `query` and `rewrite`: one pattern over files of one or many languages, sorted, paged; nothing is written. */
export async function run(call: StructuralCall, context: Context, { notices }: Reported): Promise<Result | undefined> {
  const { input, given } = call
  if (!astGrepPath(context.workspace.root)) return undefined
  checkMetavariables(call)
  const found = await subjects(context, input, requiredWord(input.pattern, input.strictness, input.selector))
  notices.push(...found.notices)
  const search = new Search(context, call)
  const all = groupByLanguage(found.files, input)
  const holding = groupByLanguage(found.holding, input)
  await Promise.all([...all].map(([id, { language }]) => search.language(language, holding.get(id)?.files ?? [])))
  search.judge(all.size, notices)

  const matches = search.matches.sort((a, b) => byPath(a.file, b.file) || a.range.byteOffset.start - b.range.byteOffset.start)
  const page = matches.slice(input.skip, input.skip + input.max_results).map(matchOf)
  const shown = fitting(page)
  const end = input.skip + shown.length
  const truncated = end < matches.length
  const common = {
    workflow: input.workflow,
    truncated,
    backend: 'ast-grep',
    path: input.path,
    ...(truncated && { next: { tool: 'unified_search', input: { action: 'structural', ...given, skip: end } } }),
  }
  const files = new Set(matches.map(({ file }) => file)).size
  const extra = notices.length > 0 ? { notices } : {}
  if (input.workflow === 'rewrite') {
    const output = { ...common, rewrites: shown, total_rewrites: matches.length }
    return ok(output, { text: renderRewrites(shown, matches.length, files), ...extra })
  }
  const output = {
    ...common,
    matches: shown,
    total_matches: matches.length,
    files_searched: found.files.length,
    ...(input.pattern !== undefined && { pattern: input.pattern }),
    ...(input.kind !== undefined && { kind: input.kind }),
    ...(search.debug !== undefined && { debug: { format: input.debug_query === true ? 'pattern' : input.debug_query, text: search.debug } }),
  }
  return ok(output, { text: renderMatches(shown, { total: matches.length, files, searched: found.files.length, path: input.path, next: truncated ? end : undefined }), ...extra })
}

function groupByLanguage(files: Subject[], input: StructuralInput): Map<string, { language: Language; files: Subject[] }> {
  const groups = new Map<string, { language: Language; files: Subject[] }>()
  for (const file of files) {
    const group = groups.get(file.language.id) ?? { language: file.language, files: [] }
    group.files.push(file)
    groups.set(file.language.id, group)
  }
  // A named language is asked even without a file, because the pattern may be wrong for it.
  if (input.lang !== undefined && groups.size === 0) {
    groups.set(input.lang, { language: { id: input.lang, title: input.lang, aliases: [], extensions: [] }, files: [] })
  }
  return groups
}

/** What the runs of one query came to. */
class Search {
  readonly matches: Native[] = []
  debug: string | undefined
  private readonly refusals: { title: string; error: VtError }[] = []
  private readonly fragments: string[] = []
  private readonly unread: string[] = []
  private readonly large: string[] = []
  private stopped = false

  constructor(
    private readonly context: Context,
    private readonly call: StructuralCall,
  ) {}

  /** Looks for the pattern in files of one language, some of them at a time. */
  async language(language: Language, files: Subject[]): Promise<void> {
    for (let at = 0; at === 0 || at < files.length; at += batch) {
      const opened: { path: string; handle: Handle; extension: string }[] = []
      try {
        for (const { path } of files.slice(at, at + batch)) {
          const handle = await this.context.workspace.openFile(path).catch(gone)
          if (!handle) continue
          const extension = this.call.input.lang === undefined ? path.slice(path.lastIndexOf('.') + 1) : (language.extensions[0] ?? path.slice(path.lastIndexOf('.') + 1))
          if (handle.stat.bytes > largestSearched && path !== this.call.input.path) {
            this.large.push(path)
            await handle.close()
          } else opened.push({ path, handle, extension })
        }
        if (!(await this.files(language, opened))) return
      } finally {
        for (const { handle } of opened) await handle.close()
      }
    }
  }

  /** False when there is no use in going on with this language. */
  private async files(language: Language, opened: { path: string; handle: Handle; extension: string }[]): Promise<boolean> {
    return withLinks(opened, language.extensions[0] ?? 'txt', async ({ folder, names, empty }) => {
      const paths = new Map(names.map((name, index) => [name, opened[index]!.path]))
      const stream = lines((line) => {
        const native = JSON.parse(line.toString()) as Native
        this.matches.push({ ...native, file: paths.get(native.file) ?? native.file })
        this.stopped ||= this.matches.length >= most
        return this.stopped ? false : undefined
      }, 67_108_864)
      const args = [...argumentsFor(this.call.input, language), '--', ...(names.length > 0 ? names : [empty])]
      const answered = await astGrep(this.context.workspace.root, args, { cwd: folder, signal: this.context.signal, seconds }, stream.take)
      if (!answered) throw engineMissing()
      return this.heed(answered, language, paths)
    })
  }

  private heed(answered: Answered, { title }: Language, paths: Map<string, string>): boolean {
    const { input } = this.call
    if (answered.timed_out && this.matches.length === 0) {
      throw refusal('VT_SEARCH_TIMEOUT', `Nothing was found in '${input.path}' within ${seconds} s.`, { retryable: true })
    }
    this.stopped ||= answered.timed_out
    if (answered.exit_code === undefined && !answered.stopped && !answered.timed_out) {
      throw refusal('VT_SEARCH_FAILED', 'ast-grep ended by a signal.', { details: { stderr: reasons(answered.stderr) } })
    }
    const error = refused(answered, title, this.call)
    if (error) this.refusals.push({ title, error })
    if (isFragment(answered)) this.fragments.push(title)
    for (const [, name, why] of answered.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm)) this.unread.push(`${paths.get(name!) ?? name}: ${why}`)
    if (input.debug_query !== undefined) this.debug = /Debug \w+:\n([\s\S]*?)(\n\n|$)/.exec(answered.stderr)?.[1]?.trimEnd() ?? ''
    return !error && !this.stopped
  }

  /** Throws when the pattern is wrong for every language there is; what it is wrong for else becomes a notice. */
  judge(languages: number, notices: Reported['notices']): void {
    const [first] = this.refusals
    if (first && this.refusals.length >= languages) throw first.error
    if (this.fragments.length > 0 && this.matches.length === 0) throw fragment(this.fragments[0]!, this.call)
    if (this.fragments.length > 0) notices.push(notice('VT_SEARCH_FRAGMENT', `The pattern is only a fragment of ${some(this.fragments)}; matches may be missing.`))
    if (first) notices.push(notice('VT_SEARCH_LANG_SKIPPED', `The pattern is no code of ${some(this.refusals.map(({ title }) => title))}; give lang to be told why.`))
    if (this.unread.length > 0) notices.push(notice('VT_SEARCH_PARTIAL', `Not read: ${some(this.unread, 5)}`))
    if (this.large.length > 0) notices.push(notice('VT_SEARCH_SKIPPED', `${count(this.large.length, 'file')} over 256 MiB not opened: ${some(this.large)}`))
    if (this.stopped) notices.push(notice('VT_SEARCH_INCOMPLETE', 'The search stopped at its limit; the totals are lower bounds. Narrow path or globs.'))
  }
}

function gone(error: unknown): undefined {
  if (error instanceof VtError) return undefined
  throw error
}

/** `run` where flags can say it, else a rule: `run` takes no pattern together with a kind, and no growing fix. */
function argumentsFor(input: StructuralInput, language: Language): string[] {
  const context = input.context_lines > 0 ? ['--context', String(input.context_lines)] : []
  const output = ['--json=stream', '--color=never', ...context]
  if ((input.pattern !== undefined && input.kind !== undefined) || input.fix_config) {
    return ['scan', '--inline-rules', JSON.stringify(ruleOf(input, language)), ...output]
  }
  const flag = (name: string, value: string | undefined) => (value === undefined ? [] : [`--${name}=${value}`])
  return [
    'run',
    ...output,
    ...flag('lang', language.id),
    ...flag('pattern', input.pattern),
    ...flag('kind', input.kind),
    ...flag('selector', input.selector),
    ...flag('strictness', input.strictness),
    ...(input.workflow === 'rewrite' ? flag('rewrite', input.rewrite) : []),
    ...flag('debug-query', input.debug_query === true ? 'pattern' : input.debug_query),
  ]
}

function ruleOf(input: StructuralInput, language: Language): object {
  const { pattern, selector, strictness } = input
  const fix = input.fix_config
  return {
    id: 'query',
    language: language.title,
    rule: {
      ...(pattern !== undefined && {
        pattern: selector === undefined && strictness === undefined ? pattern : { context: pattern, ...(selector && { selector }), ...(strictness && { strictness }) },
      }),
      ...(input.kind !== undefined && { kind: input.kind }),
    },
    ...(input.workflow === 'rewrite' && {
      fix: fix
        ? { template: fix.template, ...(fix.expand_start && { expandStart: expansion(fix.expand_start) }), ...(fix.expand_end && { expandEnd: expansion(fix.expand_end) }) }
        : input.rewrite,
    }),
  }
}

const expansion = ({ stop_by, ...rule }: Expand): object => ({ ...rule, ...(stop_by !== undefined && { stopBy: stop_by }) })
