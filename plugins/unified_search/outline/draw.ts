import { isUtf8 } from 'node:buffer'
import type { SgNode } from '@ast-grep/napi'
import type { Context, Notice } from '../../../core/index.js'
import { mapConcurrently, notice, some } from '../../lib/base/index.js'
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
  readVersion,
  toVersion,
  type Language,
  type Library,
  type OutlinedFile,
  type OutlineItem,
  type OutlineSubject,
} from '../../lib/syntax/index.js'
import { askProgram, type Opened } from './program.js'

export interface Drawn {
  files: OutlinedFile[]
  /** Files whose language ast-grep has no rules for, and which its library was not given or did not parse. */
  left: OutlineSubject[]
  /** Files behind the last that an answer has room for. */
  beyond: OutlineSubject[]
  notices: Notice[]
}

interface InProcess {
  itemsOf: (root: SgNode, text: string, language: Language) => Promise<OutlineItem[] | undefined>
  /** Bytes of a file up to which that is done: nothing could stop a parser here. */
  most: number
}
const script: InProcess = { itemsOf: outlineScript, most: 262_144 }
/** The languages that ast-grep's library outlines in this process, by their ids. The grammar of pages takes time by the square of what is open. */
const inProcess: Record<string, InProcess | undefined> = {
  javascript: script,
  typescript: script,
  tsx: script,
  css: { itemsOf: outlineStyles, most: 262_144 },
  html: { itemsOf: outlinePage, most: 32_768 },
}

/** Files that are parsed while an earlier one is read into an outline. */
const parsedAhead = 4
/** Bytes of scripts up to which a part of a directory is drawn in this process; for more the program is faster, and trees stay out of our memory. */
const mostTogether = 262_144
/** Files that are drawn together: those of one part are open while the next is opened. Most answers are full soon; what takes more goes on in larger parts. */
const parts = { first: 150, growth: 5 / 3, largest: 400 }

/** Whether files of a language are worth to be given to `draw`: ast-grep knows their symbols, or its library their nodes. */
export const drawable = ({ language: { id } }: OutlineSubject): boolean =>
  outlinedByAstGrep.has(id) || inProcess[id] !== undefined

interface Fresh extends Opened {
  version: string
}

/**
 * Outlines from the cache, and of the rest from ast-grep: what is small by its library, other files by the program. Ends where the answer is full,
 * of which `hasRoom` tells after each file. `undefined` when the program cannot be started.
 */
export async function draw(
  context: Context,
  files: OutlineSubject[],
  single: boolean,
  hasRoom: (file: OutlinedFile) => boolean,
): Promise<Drawn | undefined> {
  // Whoever names a program wants its answers.
  const chosen = Boolean(process.env['VTCODE_AST_GREP_BIN'])
  const library = !chosen && files.some(isInProcess) ? await loadAstGrepLibrary() : undefined
  const drawing = new Drawing(context, single, findAstGrep(context.workspace)!, library)
  let [at, end, size] = [0, parts.first, parts.first]
  let next: Promise<Fresh[]> | undefined = drawing.opened(files.slice(0, end))
  try {
    while (next) {
      const opened: Fresh[] = await next
      const drawn = drawing.part(opened)
      size = Math.min(parts.largest, Math.round(size * parts.growth))
      next = end < files.length ? drawing.opened(files.slice(end, end + size)) : undefined
      // It may fail before anybody waits for it.
      next?.catch(() => {})
      if (!(await drawn)) return undefined
      const part = files.slice(at, end)
      at = end
      end += size
      if (!part.every((file) => drawing.hasRoomAfter(file, hasRoom))) break
    }
  } finally {
    for (const { handle } of (await next?.catch(() => [])) ?? []) await handle.close()
  }
  return drawing.drawn(files.slice(at))
}

const isInProcess = ({ language: { id } }: OutlineSubject): boolean => inProcess[id] !== undefined
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

  drawn(beyond: OutlineSubject[]): Drawn {
    const notices = this.failed.length > 0 ? [notice('VT_SEARCH_PARTIAL', `ast-grep: ${some(this.failed, 5)}`)] : []
    return {
      files: [...this.files.values()],
      left: this.left,
      beyond,
      notices: [...notices, ...describeSkipped(this.large, this.unread)],
    }
  }

  hasRoomAfter({ path }: OutlineSubject, hasRoom: (file: OutlinedFile) => boolean): boolean {
    const file = this.files.get(path)
    return !file || hasRoom(file)
  }

  /** The files of which nothing is known, open; what is known of one that did not change needs no opening. */
  async opened(files: OutlineSubject[]): Promise<Fresh[]> {
    const entries = await statEntries(
      this.context,
      files.map(({ path }) => path),
    )
    await using opener = this.context.workspace.createFileOpener()
    const opened: Fresh[] = []
    try {
      for (const file of files) {
        const entry = entries.get(file.path)
        const version = entry?.kind === 'file' ? toVersion(entry, this.by(file.language)) : undefined
        const items = version === undefined ? undefined : getCachedItems(version)
        if (items) this.add(file, items)
        const fresh = items ? undefined : await this.open(opener, file)
        if (fresh) opened.push({ ...file, ...fresh })
      }
      return opened
    } catch (error) {
      for (const { handle } of opened) await handle.close()
      throw error
    }
  }

  /** Draws open files and closes them. False where the program cannot be started, and where its answer is none. */
  async part(opened: Fresh[]): Promise<boolean> {
    try {
      const scripts = opened.filter((file) => isKnown(file) && isInProcess(file))
      const small = scripts.reduce((sum, { handle }) => sum + handle.stat.bytes, 0) <= mostTogether
      const inThis = this.library ? opened.filter((file) => isInProcess(file) && (small || !isKnown(file))) : []
      const others = opened.filter((file) => !inThis.includes(file))
      const left: Fresh[] = []
      const both = [this.byLibrary(inThis, left), this.byProgram(others.filter(isKnown))] as const
      // Neither is left alone with its open files.
      await Promise.allSettled(both)
      const [, answered] = await Promise.all(both)
      for (const { path, language } of [...left, ...others])
        if (!outlinedByAstGrep.has(language.id)) this.left.push({ path, language })
      return answered && (await this.byProgram(left.filter(isKnown)))
    } finally {
      for (const { handle } of opened) await handle.close()
    }
  }

  /** In this process; `left` takes what is for the program: what is large or no text, and what does not parse. */
  private async byLibrary(files: Fresh[], left: Fresh[]): Promise<void> {
    const until = performance.now() + this.context.host.waits.engine
    const parsed = mapConcurrently(texts(files, left), parsedAhead, async (one) => ({
      ...one,
      root: (await this.library!.parseAsync(one.file.language.title, one.text)).root(),
    }))
    for await (const { file, text, root } of parsed) {
      this.context.signal.throwIfAborted()
      const items =
        performance.now() > until ? undefined : await inProcess[file.language.id]!.itemsOf(root, text, file.language)
      // Without a copy of its own each name and line would keep the text that it was cut from, of a page once for each element around it.
      if (items) this.settle(file, JSON.parse(JSON.stringify(items)) as OutlineItem[])
      else left.push(file)
    }
  }

  private async byProgram(files: Fresh[]): Promise<boolean> {
    if (files.length === 0) return true
    const made = await askProgram(this.context, files, this.failed)
    if (!made) return false
    for (const file of files) {
      const items = made.get(file.handle.ref)
      if (items) this.settle(file, items)
    }
    return true
  }

  /** A file of which nothing is known, open. */
  private async open(
    opener: Parameters<typeof openIfReadable>[0],
    file: OutlineSubject,
  ): Promise<Pick<Fresh, 'handle' | 'version'> | undefined> {
    const handle = await openIfReadable(opener, file.path, this.unread)
    if (!handle) return undefined
    try {
      if (isTooLargeToOutline(handle, this.single)) this.large.push(file.path)
      else {
        const version = await readVersion(handle, this.by(file.language))
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

  private settle(file: Fresh, items: OutlineItem[]): void {
    cacheItems(file.version, items)
    this.add(file, items)
  }

  private add({ path, language }: OutlineSubject, items: OutlineItem[]): void {
    this.files.set(path, { path, lang: language.title, items })
  }

  private by(language: Language): string {
    return `${this.engine}:${language.id}`
  }
}

/** The texts of open files, one after the other. */
async function* texts(files: Fresh[], left: Fresh[]): AsyncGenerator<{ file: Fresh; text: string }> {
  for (const file of files) {
    const { handle, language } = file
    const bytes = handle.stat.bytes > inProcess[language.id]!.most ? undefined : await handle.read(0, handle.stat.bytes)
    const text = bytes && isUtf8(bytes) ? bytes.toString() : undefined
    if (text !== undefined && isLinearToParse(text, MAX_LINE_UNITS)) yield { file, text }
    else left.push(file)
  }
}
