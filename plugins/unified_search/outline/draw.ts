import { isUtf8 } from 'node:buffer'
import type { SgNode } from '@ast-grep/napi'
import type { Context, Notice } from '../../../core/index.js'
import { mapConcurrently, notice, formatNames } from '../../lib/base/index.js'
import { statEntries, openIfReadable } from '../../lib/search/index.js'
import {
  loadAstGrepLibrary,
  findAstGrep,
  getCachedOutline,
  isLinearToParse,
  describeSkipped,
  MAX_LINE_UNITS,
  outlinedByAstGrep,
  outlinePage,
  cacheOutline,
  outlineScript,
  outlineStyles,
  isTooLargeToOutline,
  readOutlineVersion,
  toOutlineVersion,
  type Language,
  type Library,
  type OutlinedFile,
  type OutlineItem,
  type OutlineSubject,
  type ParsedOutline,
} from '../../lib/syntax/index.js'
import { parseSymbols, SERVED } from '../outline_tree_sitter/parse_symbols.js'
import { findBrokenFiles } from './broken_files.js'
import { outlineByProgram, type OpenFile } from './program.js'

export interface DrawnFiles {
  files: OutlinedFile[]
  /** Files in languages without rules in ast-grep that its library skipped or did not parse. */
  left: OutlineSubject[]
  /** Files after the last one that fits the answer. */
  beyond: OutlineSubject[]
  notices: Notice[]
}

interface InProcessOutline {
  toItems: (root: SgNode, text: string, language: Language) => Promise<OutlineItem[] | undefined>
  /** Limit of a file, because a parser in this process cannot be stopped. */
  maxBytes: number
}
const script: InProcessOutline = { toItems: outlineScript, maxBytes: 262_144 }
/**
 * Languages that ast-grep's library outlines in this process. Parsing pages takes quadratic time in the depth of open
 * elements.
 */
const IN_PROCESS: Record<string, InProcessOutline | undefined> = {
  javascript: script,
  typescript: script,
  tsx: script,
  css: { toItems: outlineStyles, maxBytes: 262_144 },
  html: { toItems: outlinePage, maxBytes: 32_768 },
}

/** Files parsed while an earlier one is converted to an outline. */
const PARSED_AHEAD = 4
/**
 * Bytes of scripts up to which files are outlined in this process; for more, the program is faster and needs no
 * memory here.
 */
const MAX_IN_PROCESS_BYTES = 262_144
/** Files with syntax errors that a second parser reads too. */
const MAX_COMPLETED = 20
/** Number of files outlined together. Parts grow, because most answers are full after the first. */
const PART_SIZES = { first: 150, growth: 5 / 3, largest: 400 }

/** Returns whether ast-grep or its library outlines the language of a file. */
export const isDrawable = ({ language: { id } }: OutlineSubject): boolean =>
  outlinedByAstGrep.has(id) || IN_PROCESS[id] !== undefined

interface FreshFile extends OpenFile {
  version: string
}

/**
 * Returns outlines from the cache and of other files from ast-grep: small files by its library, the rest by the
 * program. Stops when `hasRoom` returns false. Returns `undefined` when the program cannot be started.
 */
export async function draw(
  context: Context,
  files: OutlineSubject[],
  single: boolean,
  hasRoom: (file: OutlinedFile) => boolean,
): Promise<DrawnFiles | undefined> {
  // A program named in the environment is always used.
  const chosen = Boolean(process.env['VTCODE_AST_GREP_BIN'])
  const library = !chosen && files.some(isInProcess) ? await loadAstGrepLibrary() : undefined
  const drawing = new Drawing(context, single, findAstGrep(context.workspace)!, library)
  let [at, end, size] = [0, PART_SIZES.first, PART_SIZES.first]
  let next: Promise<FreshFile[]> | undefined = drawing.openFresh(files.slice(0, end))
  try {
    while (next) {
      const opened: FreshFile[] = await next
      const drawn = drawing.drawPart(opened)
      size = Math.min(PART_SIZES.largest, Math.round(size * PART_SIZES.growth))
      next = end < files.length ? drawing.openFresh(files.slice(end, end + size)) : undefined
      // A rejection before the next iteration must not be unhandled.
      next?.catch(() => {})
      if (!(await drawn)) return undefined
      const part = files.slice(at, end)
      at = end
      end += size
      if (!part.every((file) => drawing.hasRoomBeyond(file, hasRoom))) break
    }
  } finally {
    for (const { handle } of (await next?.catch(() => [])) ?? []) await handle.close()
  }
  return drawing.toResult(files.slice(at))
}

const isInProcess = ({ language: { id } }: OutlineSubject): boolean => IN_PROCESS[id] !== undefined
const isKnown = ({ language: { id } }: OutlineSubject): boolean => outlinedByAstGrep.has(id)

class Drawing {
  private readonly files = new Map<string, OutlinedFile>()
  private readonly left: OutlineSubject[] = []
  private readonly failed: string[] = []
  private readonly large: string[] = []
  private readonly unread: string[] = []
  private completed = 0

  constructor(
    private readonly context: Context,
    private readonly single: boolean,
    private readonly engine: string,
    private readonly library: Library | undefined,
  ) {}

  toResult(beyond: OutlineSubject[]): DrawnFiles {
    const notices =
      this.failed.length > 0 ? [notice('VT_SEARCH_PARTIAL', `ast-grep: ${formatNames(this.failed, 5)}`)] : []
    return {
      files: [...this.files.values()],
      left: this.left,
      beyond,
      notices: [...notices, ...describeSkipped(this.large, this.unread)],
    }
  }

  hasRoomBeyond({ path }: OutlineSubject, hasRoom: (file: OutlinedFile) => boolean): boolean {
    const file = this.files.get(path)
    return !file || hasRoom(file)
  }

  /** Opens the files that are not in the cache. */
  async openFresh(files: OutlineSubject[]): Promise<FreshFile[]> {
    const entries = await statEntries(
      this.context,
      files.map(({ path }) => path),
    )
    await using opener = this.context.workspace.createFileOpener()
    const opened: FreshFile[] = []
    try {
      for (const file of files) {
        const entry = entries.get(file.path)
        const version = entry?.kind === 'file' ? toOutlineVersion(entry, this.toEngineKey(file.language)) : undefined
        const known = version === undefined ? undefined : getCachedOutline(version)
        if (known) this.add(file, known)
        const fresh = known ? undefined : await this.openFile(opener, file)
        if (fresh) opened.push({ ...file, ...fresh })
      }
      return opened
    } catch (error) {
      for (const { handle } of opened) await handle.close()
      throw error
    }
  }

  /** Outlines open files and closes them. Returns false if the program cannot be started or gives no answer. */
  async drawPart(opened: FreshFile[]): Promise<boolean> {
    try {
      const scripts = opened.filter((file) => isKnown(file) && isInProcess(file))
      const small = scripts.reduce((sum, { handle }) => sum + handle.stat.bytes, 0) <= MAX_IN_PROCESS_BYTES
      const own = this.library ? opened.filter((file) => isInProcess(file) && (small || !isKnown(file))) : []
      const others = opened.filter((file) => !own.includes(file))
      const left: FreshFile[] = []
      const both = [this.drawByLibrary(own, left), this.drawByProgram(others.filter(isKnown))] as const
      // Both must end before the files are closed.
      await Promise.allSettled(both)
      const [, answered] = await Promise.all(both)
      for (const { path, language } of [...left, ...others])
        if (!outlinedByAstGrep.has(language.id)) this.left.push({ path, language })
      return answered && (await this.drawByProgram(left.filter(isKnown)))
    } finally {
      for (const { handle } of opened) await handle.close()
    }
  }

  /** Outlines files in this process. Adds files that are large, not text or do not parse to `left`, for the program. */
  private async drawByLibrary(files: FreshFile[], left: FreshFile[]): Promise<void> {
    const until = performance.now() + this.context.host.timeouts.engine
    const parsed = mapConcurrently(readTexts(files, left), PARSED_AHEAD, async (one) => ({
      ...one,
      root: (await this.library!.parseAsync(one.file.language.title, one.text)).root(),
    }))
    for await (const { file, text, root } of parsed) {
      this.context.signal.throwIfAborted()
      const items =
        performance.now() > until ? undefined : await IN_PROCESS[file.language.id]!.toItems(root, text, file.language)
      // A copy, because each name and line is a slice that keeps the whole text in memory.
      if (items) this.settle(file, { items: JSON.parse(JSON.stringify(items)) as OutlineItem[], isBroken: false })
      else left.push(file)
    }
  }

  private async drawByProgram(files: FreshFile[]): Promise<boolean> {
    if (files.length === 0) return true
    const both = [outlineByProgram(this.context, files, this.failed), findBrokenFiles(this.context, files)] as const
    await Promise.allSettled(both)
    const [made, broken] = await Promise.all(both)
    if (!made) return false
    for (const file of files) {
      const items = made.get(file.handle.ref)
      const isBroken = broken.has(file.handle.ref)
      if (items) this.settle(file, { items: isBroken ? await this.complete(items, file) : items, isBroken })
    }
    return true
  }

  /** Returns the symbols of a file with syntax errors from the parser that recovers more of them. */
  private async complete(items: OutlineItem[], { handle, language: { id } }: FreshFile): Promise<OutlineItem[]> {
    if (this.completed++ >= MAX_COMPLETED || !SERVED.has(id)) return items
    const other = await parseSymbols(handle, id, this.context).catch(() => undefined)
    return other && other.items.length > items.length ? other.items : items
  }

  /** Opens a file that is not in the cache. */
  private async openFile(
    opener: Parameters<typeof openIfReadable>[0],
    file: OutlineSubject,
  ): Promise<Pick<FreshFile, 'handle' | 'version'> | undefined> {
    const handle = await openIfReadable(opener, file.path, this.unread)
    if (!handle) return undefined
    try {
      if (isTooLargeToOutline(handle, this.single)) this.large.push(file.path)
      else {
        const version = await readOutlineVersion(handle, this.toEngineKey(file.language))
        const known = getCachedOutline(version)
        if (!known) return { handle, version }
        this.add(file, known)
      }
    } catch (error) {
      await handle.close()
      throw error
    }
    await handle.close()
    return undefined
  }

  private settle(file: FreshFile, outline: ParsedOutline): void {
    cacheOutline(file.version, outline)
    this.add(file, outline)
  }

  private add({ path, language }: OutlineSubject, outline: ParsedOutline): void {
    this.files.set(path, { path, lang: language.title, ...outline })
  }

  private toEngineKey(language: Language): string {
    return `${this.engine}:${language.id}`
  }
}

/** Reads the texts of open files, one after the other. */
async function* readTexts(files: FreshFile[], left: FreshFile[]): AsyncGenerator<{ file: FreshFile; text: string }> {
  for (const file of files) {
    const { handle, language } = file
    const bytes =
      handle.stat.bytes > IN_PROCESS[language.id]!.maxBytes ? undefined : await handle.read(0, handle.stat.bytes)
    const text = bytes && isUtf8(bytes) ? bytes.toString() : undefined
    if (text !== undefined && isLinearToParse(text, MAX_LINE_UNITS)) yield { file, text }
    else left.push(file)
  }
}
