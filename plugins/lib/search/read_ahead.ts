import { VtError } from '../../../core/base/index.js'
import type { EntryKind, Handle } from '../../../core/workspace/index.js'
import { nameOf, parentOf } from '../base/index.js'
import { ByFolder } from './by_folder.js'

export interface NamedEntry {
  name: string
  kind: EntryKind
}

/** Directories that are open at the same time, and names that are read before they are asked for. */
const most = { held: 64, names: 200_000 }

/**
 * Reads the directories in which an engine finds files while it looks for more, each through the one that holds it. What cannot be read
 * is left to who asks for it.
 */
export class ReadAhead {
  private readonly read = new Map<string, NamedEntry[]>()
  /** By folder, also of those on the way to one. */
  private readonly told = new Map<string, string[]>()
  /** The latest last. */
  private readonly held = new Map<string, Handle>()
  private left = most.names
  private readonly looked = new ByFolder((folder) => {
    if (this.left > 0) this.look(folder)
    return this.filesOf(folder)
  })

  constructor(
    private readonly base: Handle,
    private readonly mostNames: number,
  ) {}

  /** The engine found a file. */
  found(path: string): void {
    this.looked.of(path).push(path)
  }

  /** Whether the engine found a file in a folder or below. */
  leadsOn(path: string): boolean {
    return this.told.has(path)
  }

  /** The files in a folder that the engine found, in order. */
  toldIn(path: string): string[] {
    return this.told.get(path)?.sort() ?? []
  }

  private filesOf(folder: string): string[] {
    const known = this.told.get(folder)
    if (known) return known
    const files: string[] = []
    this.told.set(folder, files)
    if (folder !== this.base.path) this.filesOf(parentOf(folder))
    return files
  }

  namesIn(path: string): NamedEntry[] | undefined {
    return this.read.get(path)
  }

  [Symbol.dispose](): void {
    for (const handle of this.held.values()) void handle.close()
  }

  private look(path: string): void {
    try {
      this.open(path)
    } catch (error) {
      if (!(error instanceof VtError)) throw error
    }
  }

  private open(path: string): Handle {
    if (path === this.base.path) return this.base
    const known = this.held.get(path)
    const handle = known ?? this.open(parentOf(path)).enter(nameOf(path))
    if (known) this.held.delete(path)
    this.held.set(path, handle)
    if (this.held.size > most.held) {
      const [first, oldest] = this.held.entries().next().value!
      this.held.delete(first)
      void oldest.close()
    }
    if (!this.read.has(path)) {
      const names = handle.names(this.mostNames)
      this.left -= names.length
      this.read.set(path, names)
    }
    return handle
  }
}
