import { ok, type Call, type Notice, type Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { visibleLine } from '../../../core/text/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { EntryStat, Handle } from '../../../core/workspace/index.js'
import {
  comparePaths,
  toParentPath,
  pluralize,
  nextCall,
  notice,
  listSearchNotices,
  formatNames,
} from '../base/index.js'
import {
  listFiles,
  openToSearch,
  MAX_PARSED_BYTES,
  MAX_SEARCHED_BYTES,
  tooLargeToParse,
  type Listing,
} from '../search/index.js'
import { languageByName, languageByPath, type Language } from './languages.js'
import { createItemFilter } from './outline_filter.js'
import { renderOutline } from './outline_text.js'
import type { OutlinedFile, OutlineInput, OutlineItem, OutlineOutput, ParsedOutline } from './types.js'

/** Returns a name on one line, at most 200 characters. */
export const shortenName = (name: string): string => name.replace(/\s+/g, ' ').slice(0, 200)

/** Returns the language that the caller names, known or not. */
export function resolveLanguage({ lang }: OutlineInput): Language | undefined {
  return lang === undefined
    ? undefined
    : (languageByName(lang) ?? { id: lang, title: lang, aliases: [], extensions: [] })
}

export interface OutlineSubject {
  path: string
  language: Language
}
export interface OutlineSubjects {
  files: OutlineSubject[]
  /** `path` names a single file. */
  single: boolean
  listing?: Listing
}

/** Finds the files to outline, in path order, each with its language. */
export async function findOutlineSubjects(context: Context, input: OutlineInput): Promise<OutlineSubjects> {
  const wanted = resolveLanguage(input)
  await using target = await openToSearch(context, input.path)
  if (target.kind === 'file') {
    const language = wanted ?? languageByPath(target.path)
    return { files: language ? [{ path: target.path, language }] : [], single: true }
  }
  const listing = await listFiles(context, target, { follow: input.follow })
  const files = listing.files.flatMap((path) => {
    const language = languageByPath(path)
    return language && (!wanted || wanted.id === language.id) ? [{ path, language }] : []
  })
  return { files, single: false, listing }
}

/** Outlines by the version of the file, least recently used first. Holds the outlines of a whole directory. */
const cache = new Map<string, ParsedOutline>()
/** About 25 MB. */
const MAX_CACHED_ITEMS = 100_000
let cachedItems = 0
const computeWeight = ({ items }: ParsedOutline): number =>
  items.reduce((sum, { members }) => sum + 1 + members.length, 1)

type Identity = Pick<EntryStat, 'dev' | 'ino' | 'bytes' | 'mtime_ns' | 'mtime_ms'>

/** Returns a key that changes with the file; `undefined` for a file changed within the last 2 s. */
export function toOutlineVersion(
  { dev, ino, bytes, mtime_ns, mtime_ms }: Identity,
  engine: string,
): string | undefined {
  // Two versions may have the same time within the resolution of a clock.
  return Date.now() - mtime_ms > 2000 ? [engine, dev, ino, bytes, mtime_ns].join(':') : undefined
}

/** Returns the key of an open file, from a hash of its bytes where the stat is not enough. */
export async function readOutlineVersion(handle: Handle, engine: string): Promise<string> {
  const { stat } = handle
  return (
    toOutlineVersion(stat, engine) ?? `${engine}:${stat.dev}:${stat.ino}:${sha256(await handle.read(0, stat.bytes))}`
  )
}

export function getCachedOutline(version: string): ParsedOutline | undefined {
  const outline = cache.get(version)
  if (outline) {
    cache.delete(version)
    cache.set(version, outline)
  }
  return outline
}

export function cacheOutline(version: string, outline: ParsedOutline): void {
  const before = cache.get(version)
  cachedItems += computeWeight(outline) - (before ? computeWeight(before) : 0)
  cache.set(version, outline)
  for (const [oldest, forgotten] of cache) {
    if (cachedItems <= MAX_CACHED_ITEMS || oldest === version) return
    cachedItems -= computeWeight(forgotten)
    cache.delete(oldest)
  }
}

/** Returns whether a file is left out for its size. Throws VT_INPUT_TOO_LARGE for a named file. */
export function isTooLargeToOutline({ path, stat }: Handle, single: boolean): boolean {
  if (stat.bytes <= (single ? MAX_SEARCHED_BYTES : MAX_PARSED_BYTES)) return false
  if (single) throw tooLargeToParse(path, stat.bytes)
  return true
}

/** Returns notices about files that are too large to parse or cannot be opened. */
export function describeSkipped(large: string[], unread: string[]): Notice[] {
  const remark = (files: string[], what: string) =>
    files.length > 0
      ? [notice('VT_SEARCH_SKIPPED', `${pluralize(files.length, 'file')} ${what}, left out: ${formatNames(files)}`)]
      : []
  return [...remark(large, 'too large to parse'), ...remark(unread, 'not read')]
}

function describeBroken(files: readonly OutlinedFile[]): Notice[] {
  const broken = files.filter(({ isBroken }) => isBroken).map(({ path }) => path)
  if (broken.length === 0) return []
  const which = `${pluralize(broken.length, 'file')} did not parse whole: ${formatNames(broken)}`
  return [notice('VT_SEARCH_PARSE', `${which}. Symbols next to a syntax error can be missing; grep finds them.`)]
}

const MAX_ANSWER = { items: 2000, bytes: 262_144 }

/** Returns the part of a file that an answer shows. */
export type OutlineShaper = (file: OutlinedFile) => ReturnType<typeof shapeFile>

/** Creates a shaper for one call, which caches its results. Throws VT_INPUT_INVALID, VT_SEARCH_PATTERN. */
export async function createShaper(input: OutlineInput, single: boolean): Promise<OutlineShaper> {
  const filter = await createItemFilter(input, single)
  const known = new Map<string, ReturnType<typeof shapeFile>>()
  return (file) => {
    let shown = known.get(file.path)
    if (!shown) known.set(file.path, (shown = shapeFile(file, filter(file), input.view)))
    return shown
  }
}

function shapeFile(
  file: OutlinedFile,
  kept: OutlineItem[],
  view: OutlineInput['view'],
): { kept: OutlineItem[]; shaped: unknown; bytes: number } {
  const shaped = toOutput({ ...file, items: kept }, view)
  return { kept, shaped, bytes: Buffer.byteLength(JSON.stringify(shaped)) }
}

/** Creates a check that gets files in path order and returns whether the answer has room for more. */
export function createRoomCheck(shaper: OutlineShaper): (file: OutlinedFile) => boolean {
  let [items, bytes] = [0, 0]
  return (file) => {
    const shown = shaper(file)
    items += shown.kept.length
    bytes += shown.bytes
    return items <= MAX_ANSWER.items && bytes <= MAX_ANSWER.bytes
  }
}

export interface DrawnOutline {
  files: OutlinedFile[]
  /** Files that were not outlined because of `max_results` or a full answer. */
  beyond: string[]
  backend: OutlineOutput['backend']
  notices: Notice[]
  single: boolean
  listing?: Listing | undefined
}

/** Creates the answer: filtered, in the requested view, cut at the limits. */
export function createOutlineAnswer(
  drawn: DrawnOutline,
  { input, given }: Pick<Call<OutlineInput>, 'input' | 'given'>,
  shaper: OutlineShaper,
): Result {
  const { files, items, cutAt } = fitFiles(drawn, input.view, shaper)
  const left = [...drawn.files.slice(cutAt).map(({ path }) => path), ...drawn.beyond].sort(comparePaths)
  const truncated = left.length > 0 || items > MAX_ANSWER.items || drawn.listing?.incomplete === true
  const sub = left
    .map(toParentPath)
    .find(
      (folder) =>
        folder !== input.path && !drawn.files.slice(0, cutAt).some(({ path }) => path.startsWith(`${folder}/`)),
    )
  const output = {
    view: input.view,
    files: files.map(({ shaped }) => shaped),
    backend: drawn.backend,
    total_symbols: files.reduce((sum, file) => sum + file.symbols, 0),
    truncated,
    ...(sub !== undefined && { next: nextCall('outline', { ...given, path: sub }) }),
  }
  const notices = [
    ...drawn.notices,
    ...describeBroken(drawn.files.slice(0, cutAt)),
    ...(drawn.listing ? listSearchNotices(drawn.listing) : []),
  ]
  const tail = [
    ...(items > MAX_ANSWER.items ? [`Only the first ${MAX_ANSWER.items} items are shown; give type or match.`] : []),
    ...(left.length > 0 ? [`${pluralize(left.length, 'file')} left out; outline a subdirectory.`] : []),
  ].join('\n')
  const none =
    drawn.files.length + drawn.beyond.length > 0
      ? 'No symbols in'
      : drawn.single
        ? 'No engine here outlines'
        : 'No file of a known language in'
  const text =
    [...files.map((file) => file.text), tail].filter(Boolean).join('\n') || `${none} ${visibleLine(input.path)}`
  return ok(output, { text, ...(notices.length > 0 && { notices }) })
}

/** Shapes files until the answer is full; `cutAt` is the index of the first file left out. */
function fitFiles({ files: all, single }: DrawnOutline, view: OutlineInput['view'], shaper: OutlineShaper) {
  const files: { shaped: unknown; text: string; symbols: number }[] = []
  let [items, bytes] = [0, 0]
  for (const [index, file] of all.entries()) {
    const whole = shaper(file)
    const { kept } = whole
    const shown =
      kept.length > MAX_ANSWER.items - items ? shapeFile(file, kept.slice(0, MAX_ANSWER.items - items), view) : whole
    items += kept.length
    bytes += shown.bytes
    if (bytes > MAX_ANSWER.bytes && index > 0) return { files, items, cutAt: index }
    if (kept.length > 0 || single) {
      files.push({ shaped: shown.shaped, text: renderOutline(file, shown.kept, view), symbols: countSymbols(kept) })
    }
    if (items > MAX_ANSWER.items) return { files, items, cutAt: index + 1 }
  }
  return { files, items, cutAt: all.length }
}

const countSymbols = (items: OutlineItem[]): number => items.reduce((sum, item) => sum + 1 + item.members.length, 0)

function toOutput({ path, lang, items }: OutlinedFile, view: OutlineInput['view']): unknown {
  if (view === 'full') return { path, lang, items }
  const shaped = groupByKind(items).map(({ kind, names, members }) => ({
    kind,
    names,
    ...(view === 'digest' && { members }),
  }))
  return { path, lang, groups: shaped }
}

interface Group {
  kind: string
  names: string[]
  members: string[]
}

/** Groups names by kind, in the order of first appearance. */
function groupByKind(items: OutlineItem[]): Group[] {
  const groups = new Map<string, Group>()
  for (const { kind, name, members } of items) {
    let group = groups.get(kind)
    if (!group) groups.set(kind, (group = { kind, names: [], members: [] }))
    group.names.push(name)
    for (const member of members) group.members.push(member.name)
  }
  return [...groups.values()]
}
