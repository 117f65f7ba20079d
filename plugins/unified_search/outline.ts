import { VtError, type Context, type Handle, type Handler, type JsonObject, type Notice } from '../../core/index.js'
import { inPathOrder, notice, slotRefusal, some } from '../lib/base/index.js'
import { lines } from '../lib/process/index.js'
import { largestParsed, look, openOr, parserMemory, tooHardToParse } from '../lib/search/index.js'
import {
  outlineAnswer, outlinedByAstGrep, astGrep, astGrepPath, cached, ensureAstGrep, filterOf, InstallProblem, leftOut, remember, outlineSubjects, tooLargeToOutline, versionIn, versionOf,
  wantedLanguage, withPassedOver, type OutlineItem, type Language, type Outlined, type OutlineInput, type Range, type OutlineSubject,
} from '../lib/syntax/index.js'

/**
 * The symbols of files by ast-grep. Languages it has no rules for are asked of this slot once more, with `lang`: there this
 * handler declines and the next in line answers. Declines too when the program is missing.
 */
const outline: Handler<OutlineInput> = async (call, context) => {
  const { input } = call
  const wanted = wantedLanguage(input)
  if (wanted && !outlinedByAstGrep.has(wanted.id)) return undefined
  const found = await outlineSubjects(context, input)
  if (!(await isThere(context, found.files))) return undefined
  // Wrong words are refused before anything is drawn.
  await filterOf(input, found.single)
  const chosen = found.files.slice(0, input.max_results)
  const own = chosen.filter(({ language }) => outlinedByAstGrep.has(language.id))
  const [drawn, others] = await Promise.all([
    draw(context, own, found.single),
    elsewhere(context, input, chosen.filter(({ language }) => !outlinedByAstGrep.has(language.id)), found.single),
  ])
  if (!drawn) return undefined
  const unknown = found.single && found.files.length === 0 ? [`${input.path} (unknown)`] : []
  const notices = [...drawn.notices, ...others.notices, ...unsupported([...others.missing, ...unknown])]
  const backend = others.files.length === 0 ? 'ast-grep' : drawn.files.length === 0 ? 'tree-sitter' : 'mixed'
  const files = inPathOrder([...drawn.files, ...others.files], ({ path }) => path)
  const beyond = found.files.slice(input.max_results).map(({ path }) => path)
  return outlineAnswer({ files, beyond, backend, notices, single: found.single, listing: found.listing }, call)
}
export default outline

/** Whether ast-grep is there, or can be brought for files that it serves. */
async function isThere(context: Context, files: OutlineSubject[]): Promise<boolean> {
  if (astGrepPath(context.workspace.root)) return true
  if (!files.some(({ language }) => outlinedByAstGrep.has(language.id))) return false
  return ensureAstGrep(context).then(() => true, (error: unknown) => {
    if (error instanceof InstallProblem) return false
    throw error
  })
}

const unsupported = (languages: string[]): Notice[] =>
  languages.length === 0 ? [] : [notice('VT_OUTLINE_UNSUPPORTED', `No outline for: ${some(languages)}. Use grep there.`)]

interface Drawn {
  files: Outlined[]
  notices: Notice[]
}

/** Outlines from the cache, and of the rest from ast-grep. `undefined` when it cannot be started. */
async function draw(context: Context, files: OutlineSubject[], single: boolean): Promise<Drawn | undefined> {
  const engine = astGrepPath(context.workspace.root)!
  const outlined: Outlined[] = []
  const failed: string[] = []
  const large: string[] = []
  const unread: string[] = []
  const by = (language: Language) => `${engine}:${language.id}`
  const entries = await look(context, files.map(({ path }) => path))
  const unknown = files.filter(({ path, language }) => {
    // What is known of a file that did not change needs no opening.
    const entry = entries.get(path)
    const version = entry?.kind === 'file' ? versionOf(entry, by(language)) : undefined
    const items = version === undefined ? undefined : cached(version)
    if (items) outlined.push({ path, lang: language.title, items })
    return !items
  })
  await using opener = context.workspace.files()
  for (let at = 0; at < unknown.length; at += batch) {
    const fresh: Fresh[] = []
    try {
      for (const { path, language } of unknown.slice(at, at + batch)) {
        const handle = await openOr(opener, path, unread)
        if (!handle) continue
        const fits = !tooLargeToOutline(handle, single)
        if (!fits) large.push(path)
        const version = fits ? await versionIn(handle, by(language)) : undefined
        const items = version && cached(version)
        if (items || !version) await handle.close()
        if (items) outlined.push({ path, lang: language.title, items })
        else if (version) fresh.push({ path, language, handle, version })
      }
      const made = await ask(context, fresh, failed)
      if (!made) return undefined
      for (const { path, language, version, handle } of fresh) {
        const named = made.get(handle.ref)
        if (!named) continue
        const items = await withPassedOver(named, await handle.read(0, handle.stat.bytes), language)
        remember(version, items)
        outlined.push({ path, lang: language.title, items })
      }
    } finally {
      for (const { handle } of fresh) await handle.close()
    }
  }
  const notices = failed.length > 0 ? [notice('VT_SEARCH_PARTIAL', `ast-grep: ${some(failed, 5)}`)] : []
  return { files: outlined, notices: [...notices, ...leftOut(large, unread)] }
}

interface Fresh extends OutlineSubject {
  handle: Handle
  version: string
}
/** Files that are open at the same time. Each batch starts the program, which takes as long as to outline thirty files. */
const batch = 500

/** Asks ast-grep about open files, by language because a handle's name has no extension. */
async function ask(context: Context, files: Fresh[], failed: string[]): Promise<Map<string, OutlineItem[]> | undefined> {
  const made = new Map<string, OutlineItem[]>()
  const byLanguage = new Map<string, Fresh[]>()
  for (const file of files) byLanguage.set(file.language.id, [...(byLanguage.get(file.language.id) ?? []), file])
  const seconds = context.host.waits.engine / 1000
  let isNonsense = false
  const answers = await Promise.all(
    [...byLanguage].map(async ([language, group]) => {
      const sizes = new Map(group.map(({ handle }) => [handle.ref, handle.stat.bytes]))
      const stream = lines((line) => {
        const said = recordIn(line, sizes)
        if (said) made.set(said.path, said.items.filter(isDeclaration).map(itemOf))
        else if (line.length > 0) isNonsense = true
      }, 268_435_456)
      const args = ['outline', '--json=stream', '--view', 'expanded', '--items', 'all', '--color', 'never', '--lang', language, '--', ...group.map(({ handle }) => handle.ref)]
      const limited = group.some(({ handle }) => handle.stat.bytes > largestParsed) && { resident: parserMemory }
      const answered = await astGrep(context, args, { cwd: '/', seconds, ...limited }, stream.take)
      if (answered?.overburdened || (answered?.timed_out && group.length === 1)) throw tooHardToParse(group[0]!.path)
      if (answered?.timed_out) throw slotRefusal('VT_SEARCH_TIMEOUT', `ast-grep did not finish ${group.length} files of ${language} within ${seconds} s.`, { retryable: true })
      for (const [, ref, reason] of answered?.stderr.matchAll(/^ERROR: (\S+): (.*)$/gm) ?? []) {
        failed.push(`${group.find(({ handle }) => handle.ref === ref)?.path ?? 'a file'}: ${reason}`)
      }
      return answered
    }),
  )
  // A program that ends otherwise, or has no word for any file, outlined nothing: whoever is next in line answers. Of empty files it says nothing.
  const ended = !isNonsense && answers.every((answered) => answered?.exit_code === 0)
  return ended && (made.size > 0 || files.every(({ handle }) => handle.stat.bytes === 0) || failed.length > 0) ? made : undefined
}

/** A line of the program as a record; nothing where it is none, or cannot be about our file of that path, of so many bytes. */
function recordIn(line: Buffer, sizes: ReadonlyMap<string, number>): { path: string; items: NativeItem[] } | undefined {
  try {
    const said = JSON.parse(line.toString()) as { path?: unknown; items?: unknown }
    const bytes = typeof said.path === 'string' ? (sizes.get(said.path) ?? Number.MAX_SAFE_INTEGER) : undefined
    return bytes !== undefined && Array.isArray(said.items) && said.items.every((item) => isItem(item, bytes)) ? (said as { path: string; items: NativeItem[] }) : undefined
  } catch {
    return undefined
  }
}

/** Whether this is an item, or a member of one, in a file of so many bytes. */
function isItem(value: unknown, bytes: number): boolean {
  if (!isObject(value) || !['role', 'symbolType', 'name'].every((name) => typeof value[name] === 'string') || !isRange(value['range'], bytes)) return false
  const { members = [] } = value
  return Array.isArray(members) && members.every((member) => isItem(member, bytes))
}

/** Lines and columns count from 0, so that none is above the number of bytes. */
function isRange(value: unknown, bytes: number): boolean {
  const { byteOffset, start, end } = (isObject(value) ? value : {}) as Partial<Range>
  const isOffset = isCount(byteOffset?.start, 0, bytes) && isCount(byteOffset?.end, byteOffset!.start, bytes)
  return isOffset && isCount(start?.line, 0, bytes) && isCount(end?.line, start!.line, bytes) && isCount(start?.column, 0, bytes) && isCount(end?.column, 0, bytes)
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null

const isCount = (value: unknown, least: number, most: number): boolean => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

interface Elsewhere {
  files: Outlined[]
  /** Languages that nobody serves. */
  missing: string[]
  notices: Notice[]
}

/** The outlines of other languages, each asked of this slot by name. Throws what is wrong with a file that was named. */
async function elsewhere(context: Context, input: OutlineInput, files: OutlineSubject[], single: boolean): Promise<Elsewhere> {
  const found: Elsewhere = { files: [], missing: [], notices: [] }
  const wanted = new Set(files.map(({ path }) => path))
  for (const id of new Set(files.map(({ language }) => language.id))) {
    const { title } = files.find(({ language }) => language.id === id)!.language
    const result = await context.call('unified_search', {
      action: 'outline', path: input.path, lang: id, items: input.items, view: 'full', follow: input.follow, max_results: input.max_results, response_format: 'detailed',
    })
    if (result.ok) {
      found.files.push(...((result.output as JsonObject)['files'] as Outlined[]).filter(({ path }) => wanted.has(path)))
      // What befell the walk is known already.
      found.notices.push(...(result.notices ?? []).filter(({ code }) => code === 'VT_SEARCH_SKIPPED'))
    } else if (result.error.code === 'VT_SEARCH_ENGINE_MISSING') found.missing.push(title)
    else if (single) throw new VtError(result.error)
    else found.notices.push(notice('VT_SEARCH_PARTIAL', `${title}: ${result.error.message}`))
  }
  return found
}

interface NativeMember {
  role: string
  symbolType: string
  name: string
  range: Range
  signature?: string
  isPublic?: boolean
}
interface NativeItem extends NativeMember {
  astKind: string
  isImport?: boolean
  isExported?: boolean
  members?: NativeMember[]
}

/** Whether this names a thing where it is declared: a `struct s` of C without a body is the use of a type, or one announced. */
function isDeclaration({ astKind, signature = '', range: { byteOffset } }: NativeItem): boolean {
  const hasBody = signature.includes('{') || Buffer.byteLength(signature) < byteOffset.end - byteOffset.start
  return hasBody || !['struct_specifier', 'union_specifier', 'enum_specifier', 'class_specifier'].includes(astKind)
}

/** A name over several lines in one, and none that is as long as a page. */
const shownName = (name: string): string => name.replace(/\s+/g, ' ').slice(0, 200)

/** ast-grep's record in our words; keys of later versions are dropped. */
function itemOf(native: NativeItem): OutlineItem {
  return {
    role: native.role,
    kind: native.symbolType,
    name: shownName(native.name),
    signature: native.signature ?? '',
    astKind: native.astKind,
    isImport: native.isImport ?? false,
    isExported: native.isExported ?? false,
    line_number: native.range.start.line + 1,
    end_line: native.range.end.line + 1,
    range: native.range,
    members: (native.members ?? []).map(({ role, symbolType, name, signature, isPublic, range }) => ({
      role,
      kind: symbolType,
      name: shownName(name),
      signature: signature ?? '',
      isPublic: isPublic ?? false,
      line_number: range.start.line + 1,
    })),
  }
}
