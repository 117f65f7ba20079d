import { isUtf8 } from 'node:buffer'
import type { SgNode } from '@ast-grep/napi'
import type { Context, Notice } from '../../../core/index.js'
import { ahead, notice, some } from '../../lib/base/index.js'
import { look, openOr } from '../../lib/search/index.js'
import {
  astGrepLibrary, astGrepPath, cached, leftOut, outlinedByAstGrep, pageItems, remember, scriptItems, styleItems, tooLargeToOutline, versionIn, versionOf, withPassedOver, type Language, type Library, type Outlined,
  type OutlineItem, type OutlineSubject,
} from '../../lib/syntax/index.js'
import { askProgram, type Opened } from './program.js'

export interface Drawn {
  files: Outlined[]
  /** Files whose language ast-grep has no rules for, and which its library was not given or did not parse. */
  left: OutlineSubject[]
  notices: Notice[]
}

interface InProcess {
  itemsOf: (root: SgNode, text: string, language: Language) => OutlineItem[] | undefined
  /** Bytes of a file up to which that is done: nothing could stop a parser here. */
  most: number
}
const script: InProcess = { itemsOf: scriptItems, most: 262_144 }
/** The languages that ast-grep's library outlines in this process, by their ids. The grammar of pages takes time by the square of what is open. */
const inProcess: Record<string, InProcess | undefined> = {
  javascript: script, typescript: script, tsx: script, css: { itemsOf: styleItems, most: 262_144 }, html: { itemsOf: pageItems, most: 32_768 },
}

/** Files that are parsed while an earlier one is read into an outline. */
const parsedAhead = 4
/** Files that are open at the same time. Each batch starts the program, which takes as long as to outline thirty files. */
const batch = 500

/** Whether files of a language are worth to be given to `draw`: ast-grep knows their symbols, or its library their nodes. */
export const drawable = ({ language: { id } }: OutlineSubject): boolean => outlinedByAstGrep.has(id) || inProcess[id] !== undefined

/**
 * Outlines from the cache, and of the rest from ast-grep: what is small by its library, other files by the program. `undefined` when that
 * cannot be started.
 */
export async function draw(context: Context, files: OutlineSubject[], single: boolean): Promise<Drawn | undefined> {
  const drawing = new Drawing(context, single, astGrepPath(context.workspace.root)!)
  const unknown = await drawing.withoutKnown(files)
  // Whoever names a program wants its answers.
  const library = !process.env['VTCODE_AST_GREP_BIN'] && unknown.some(isInProcess) ? await astGrepLibrary() : undefined
  const left: OutlineSubject[] = library ? [] : unknown.filter(isInProcess)
  const parts = [library && drawing.byLibrary(library, unknown.filter(isInProcess), left), drawing.byProgram(unknown.filter((file) => !isInProcess(file)))] as const
  // Neither is left alone with its open files.
  await Promise.allSettled(parts)
  const [, answered] = await Promise.all(parts)
  const known = (file: OutlineSubject): boolean => outlinedByAstGrep.has(file.language.id)
  return answered && (await drawing.byProgram(left.filter(known))) ? drawing.drawn(left.filter((file) => !known(file))) : undefined
}

const isInProcess = ({ language: { id } }: OutlineSubject): boolean => inProcess[id] !== undefined

class Drawing {
  private readonly files: Outlined[] = []
  private readonly failed: string[] = []
  private readonly large: string[] = []
  private readonly unread: string[] = []

  constructor(
    private readonly context: Context,
    private readonly single: boolean,
    private readonly engine: string,
  ) {}

  drawn(left: OutlineSubject[]): Drawn {
    const notices = this.failed.length > 0 ? [notice('VT_SEARCH_PARTIAL', `ast-grep: ${some(this.failed, 5)}`)] : []
    return { files: this.files, left, notices: [...notices, ...leftOut(this.large, this.unread)] }
  }

  /** The files of which nothing is known; what is known of one that did not change needs no opening. */
  async withoutKnown(files: OutlineSubject[]): Promise<OutlineSubject[]> {
    const entries = await look(this.context, files.map(({ path }) => path))
    return files.filter((file) => {
      const entry = entries.get(file.path)
      const version = entry?.kind === 'file' ? versionOf(entry, this.by(file.language)) : undefined
      const items = version === undefined ? undefined : cached(version)
      if (items) this.add(file, items)
      return !items
    })
  }

  /** In this process; `left` takes what is for the program: what is large or no text, and what does not parse. */
  async byLibrary(library: Library, files: OutlineSubject[], left: OutlineSubject[]): Promise<void> {
    const until = performance.now() + this.context.host.waits.engine
    const parsed = ahead(this.texts(files, left), parsedAhead, async (one) => ({ ...one, root: (await library.parseAsync(one.file.language.title, one.text)).root() }))
    for await (const { file, version, text, root } of parsed) {
      this.context.signal.throwIfAborted()
      const items = performance.now() > until ? undefined : inProcess[file.language.id]!.itemsOf(root, text, file.language)
      if (items) this.settle(file, version, items)
      else left.push(file)
    }
  }

  private async *texts(files: OutlineSubject[], left: OutlineSubject[]): AsyncGenerator<{ file: OutlineSubject; version: string; text: string }> {
    await using opener = this.context.workspace.files()
    for (const file of files) {
      const fresh = await this.open(opener, file)
      if (!fresh) continue
      await using handle = fresh.handle
      const bytes = handle.stat.bytes > inProcess[file.language.id]!.most ? undefined : await handle.read(0, handle.stat.bytes)
      if (bytes && isUtf8(bytes)) yield { file, version: fresh.version, text: bytes.toString() }
      else left.push(file)
    }
  }

  /** By the program. False where it cannot be started, and where its answer is none. */
  async byProgram(files: OutlineSubject[]): Promise<boolean> {
    await using opener = this.context.workspace.files()
    for (let at = 0; at < files.length; at += batch) {
      const opened: (Opened & { version: string })[] = []
      try {
        for (const file of files.slice(at, at + batch)) {
          const fresh = await this.open(opener, file)
          if (fresh) opened.push({ ...file, ...fresh })
        }
        const made = await askProgram(this.context, opened, this.failed)
        if (!made) return false
        for (const { handle, version, ...file } of opened) {
          const named = made.get(handle.ref)
          if (named) this.settle(file, version, await withPassedOver(named, await handle.read(0, handle.stat.bytes), file.language))
        }
      } finally {
        for (const { handle } of opened) await handle.close()
      }
    }
    return true
  }

  /** A file of which nothing is known, open. */
  private async open(opener: Parameters<typeof openOr>[0], file: OutlineSubject): Promise<Pick<Opened, 'handle'> & { version: string } | undefined> {
    const handle = await openOr(opener, file.path, this.unread)
    if (!handle) return undefined
    try {
      if (tooLargeToOutline(handle, this.single)) this.large.push(file.path)
      else {
        const version = await versionIn(handle, this.by(file.language))
        const items = cached(version)
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

  private settle(file: OutlineSubject, version: string, items: OutlineItem[]): void {
    remember(version, items)
    this.add(file, items)
  }

  private add({ path, language }: OutlineSubject, items: OutlineItem[]): void {
    this.files.push({ path, lang: language.title, items })
  }

  private by(language: Language): string {
    return `${this.engine}:${language.id}`
  }
}
