import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { inside } from '../base/index.js'
import { isCompiled, refuse } from './tree.js'

const MAX_LINKS = 40
/** The most files that a folder may hold which a command names; a larger one is said not to be covered. */
const MAX_NAMED = 2_000

/** Files and links of a workspace that belong to one item, each on the way that the system takes to it. */
export class FileSet {
  readonly #paths = new Set<string>()
  readonly #absent = new Set<string>()
  readonly #shown = new Set<string>()
  readonly #listings = new Map<string, ReadonlySet<string>>()
  readonly #stems = new Map<string, ReadonlyMap<string, string[]>>()
  readonly #stats = new Map<string, Stats | undefined>()
  constructor(readonly root: string) {}

  /** What is hashed and copied: files and links, relative to the root. */
  get paths(): string[] {
    return [...this.#paths]
  }
  /** Names that would be used if something lay there. */
  get absent(): string[] {
    return [...this.#absent]
  }
  /** What a person is shown: files by the names they were asked for by, and folders that count whole. */
  get shown(): string[] {
    return [...this.#shown]
  }

  /** Adds a file, and the links on the way to it. Answers where it really lies, or nothing where no file lies. Throws VT_MANIFEST_LIMIT for a way that leads out. */
  file(path: string): string | undefined {
    const found = this.#walk(path)
    if (found?.kind !== 'file') return undefined
    this.#paths.add(relative(this.root, found.path))
    this.#shown.add(path)
    return found.path
  }
  /** Notes a name that was asked for, whether a file lies there or not. */
  named(path: string): string | undefined {
    const found = this.file(path)
    if (found === undefined && inside(this.root, path) && isName(path)) {
      this.#absent.add(relative(this.root, path))
      this.#shown.add(path)
    }
    return found
  }
  /** Adds a folder whole. Answers where it really lies; nothing where no folder lies, or it is larger than `most` files. */
  folder(path: string, most = Infinity): string | undefined {
    const found = this.#walk(path)
    if (found?.kind !== 'folder') return undefined
    const files: string[] = []
    const walk = (folder: string): boolean => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const file = join(folder, entry.name)
        if (entry.name === '.git' || isCompiled(file)) continue
        if (entry.isDirectory()) {
          if (!walk(file)) return false
        } else if (entry.isFile() || entry.isSymbolicLink()) files.push(file)
        if (files.length > most) return false
      }
      return true
    }
    if (!walk(found.path)) return undefined
    for (const file of files) this.#paths.add(relative(this.root, file))
    this.#shown.add(path)
    return found.path
  }
  /** The same for a folder that a command names. */
  namedFolder(path: string): string | undefined {
    return this.folder(path, MAX_NAMED)
  }
  kindOf(path: string): 'file' | 'folder' | undefined {
    return inside(this.root, path) ? this.#walk(path, false)?.kind : undefined
  }
  /** Whether anything may bear this name, by listings that are read once: a text may hold a hundred thousand names. */
  isListed(path: string): boolean {
    if (path === this.root) return true
    return inside(this.root, path) && this.isListed(dirname(path)) && this.#listing(dirname(path)).has(folded(basename(path)))
  }
  #listing(folder: string): ReadonlySet<string> {
    const names = this.#listings.get(folder) ?? new Set(listingOf(folder).map(folded))
    this.#listings.set(folder, names)
    return names
  }

  /** Whether anything in a folder bears this name, or goes on with a dot behind it. */
  holds(folder: string, name: string): boolean {
    return this.#listing(folder).has(name) || this.#stemsOf(folder).has(name)
  }
  /** The paths in the same folder that go on with a dot where this one ends. */
  listedLike(path: string): string[] {
    const folder = dirname(path)
    if (path === this.root || !inside(this.root, folder) || !this.isListed(folder)) return []
    return (this.#stemsOf(folder).get(folded(basename(path))) ?? []).map((name) => join(folder, name))
  }
  #stemsOf(folder: string): ReadonlyMap<string, string[]> {
    const stems = this.#stems.get(folder) ?? stemsIn(folder)
    this.#stems.set(folder, stems)
    return stems
  }

  /** Follows a path as the system does, and adds the links on its way. */
  #walk(path: string, add = true): { path: string; kind: 'file' | 'folder' } | undefined {
    if (!isName(path)) return undefined
    let rest = this.#below(path)
    let at = this.root
    for (let links = 0; rest.length > 0; ) {
      const next = join(at, rest.shift()!)
      const stat = this.#statOf(next)
      if (!stat) return undefined
      if (stat.isSymbolicLink()) {
        if (++links > MAX_LINKS) throw refuse(`${path} is a loop of links.`, path)
        if (add) this.#paths.add(relative(this.root, next))
        rest = [...this.#below(resolve(dirname(next), readlinkSync(next)), path), ...rest]
        at = this.root
      } else if (rest.length === 0) {
        if (!stat.isFile() && !stat.isDirectory()) throw refuse(`${path} is neither a file nor a folder.`, path)
        return { path: next, kind: stat.isFile() ? 'file' : 'folder' }
      } else if (stat.isDirectory()) at = next
      else return undefined
    }
    return { path: at, kind: 'folder' }
  }
  /** Looked at once: what is read later is hashed then. */
  #statOf(path: string): Stats | undefined {
    if (!this.#stats.has(path)) this.#stats.set(path, statOf(path))
    return this.#stats.get(path)
  }
  #below(path: string, from = path): string[] {
    if (!inside(this.root, path)) throw refuse(`${from} leads out of ${this.root}; code that is agreed to lies below it.`, from)
    return relative(this.root, path).split('/').filter((name) => name !== '')
  }
}

/** Whether a file could lie there: whole commands are looked up here, and what a module spells may be anything. */
const isName = (path: string): boolean => path.length < 4096 && !path.includes('\0') && path.split('/').every((name) => Buffer.byteLength(name) <= 255)

/** Throws VT_MANIFEST_LIMIT where nobody may look. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw refuse(`${path} cannot be looked at: ${(error as Error).message}.`, path)
  }
}

// As some volume would compare them.
export const folded = (name: string): string => name.normalize('NFC').toLowerCase()

/** Names by each beginning of theirs that ends before a dot. */
function stemsIn(folder: string): Map<string, string[]> {
  const stems = new Map<string, string[]>()
  for (const name of listingOf(folder)) {
    for (let dot = name.indexOf('.', 1); dot > 0; dot = name.indexOf('.', dot + 1)) {
      const stem = folded(name.slice(0, dot))
      stems.set(stem, [...(stems.get(stem) ?? []), name])
    }
  }
  return stems
}

function listingOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
