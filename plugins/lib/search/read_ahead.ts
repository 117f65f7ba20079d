import { VtError } from '../../../core/base/index.js'
import type { EntryKind, Handle } from '../../../core/workspace/index.js'
import { nameOf } from '../base/index.js'
import { ByFolder } from './by_folder.js'

export interface NamedEntry {
  name: string
  kind: EntryKind
}

/** A directory in which an engine found files, or on the way to one. */
export class ToldFolder {
  /** The paths of those in it, in no order. */
  readonly files: string[] = []
  /** Those inside, by their names; most hold none. */
  inside: Map<string, ToldFolder> | undefined
  /** What is in it, unless it could not be read. */
  names: NamedEntry[] | undefined
  handle: Handle | undefined

  constructor(
    readonly path: string,
    readonly above: ToldFolder | undefined,
  ) {}
}

/** Directories that are open at the same time, and names that are read before they are asked for. */
const most = { held: 64, names: 200_000 }

/**
 * Reads the directories in which an engine finds files while it looks for more, each through the one that holds it. What cannot be read
 * is left to who asks for it.
 */
export class ReadAhead {
  readonly top: ToldFolder
  /** The latest last. */
  private readonly held = new Set<ToldFolder>()
  private left = most.names
  private readonly folders = new ByFolder((path) => this.read(path))

  constructor(
    base: Handle,
    private readonly mostNames: number,
  ) {
    this.top = new ToldFolder(base.path, undefined)
    this.top.handle = base
  }

  /** The engine found a file. */
  found(path: string): void {
    this.folders.of(path)
  }

  /** All that count of what it found. */
  tell(files: string[]): void {
    for (const path of files) this.folders.of(path).files.push(path)
  }

  [Symbol.dispose](): void {
    for (const { handle } of this.held) void handle?.close()
  }

  private read(path: string): ToldFolder {
    if (path === this.top.path) return this.top
    const above = this.folders.of(path)
    const folder = new ToldFolder(path, above)
    above.inside ??= new Map()
    above.inside.set(nameOf(path), folder)
    if (this.left <= 0) return folder
    try {
      folder.names = this.open(folder).names(this.mostNames)
      this.left -= folder.names.length
    } catch (error) {
      if (!(error instanceof VtError)) throw error
    }
    return folder
  }

  private open(folder: ToldFolder): Handle {
    if (folder.handle) return folder.handle
    folder.handle = this.open(folder.above!).enter(nameOf(folder.path))
    this.held.add(folder)
    if (this.held.size > most.held) {
      const oldest = this.held.values().next().value!
      this.held.delete(oldest)
      void oldest.handle?.close()
      oldest.handle = undefined
    }
    return folder.handle
  }
}
