import { isUtf8 } from 'node:buffer'
import type { SgNode } from '@ast-grep/napi'
import type { Context, Notice } from '../../../core/index.js'
import { mapConcurrently, notice, formatNames } from '../../lib/base/index.js'
import { statEntries, openIfReadable } from '../../lib/search/index.js'
import {
  loadAstGrepLibrary,
  findAstGrep,
  getCachedItems,
  isLinearToParse,
  describeSkipped,
  MAX_LINE_UNITS,
  outlinedByAstGrep,
  outlinePage,
  cacheItems,
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
} from '../../lib/syntax/index.js'
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
        const items = version === undefined ? undefined : getCachedItems(version)
        if (items) this.add(file, items)
        const fresh = items ? undefined : await this.openFile(opener, file)
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
      if (items) this.settle(file, JSON.parse(JSON.stringify(items)) as OutlineItem[])
      else left.push(file)
    }
  }

  private async drawByProgram(files: FreshFile[]): Promise<boolean> {
    if (files.length === 0) return true
    const made = await outlineByProgram(this.context, files, this.failed)
    if (!made) return false
    for (const file of files) {
      const items = made.get(file.handle.ref)
      if (items) this.settle(file, items)
    }
    return true
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
        const items = getCachedItems(version)
        if (!items) return { handle, version }
        this.add(file, items)
      }
    } catch (error) {
      await handle.close()
      throw error
    }
    await handle.close()
    return undefined
  }

  private settle(file: FreshFile, items: OutlineItem[]): void {
    cacheItems(file.version, items)
    this.add(file, items)
  }

  private add({ path, language }: OutlineSubject, items: OutlineItem[]): void {
    this.files.set(path, { path, lang: language.title, items })
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
