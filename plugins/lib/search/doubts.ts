import { lstatSync } from 'node:fs'
import type { Handle } from '../../../core/workspace/index.js'
import { parentOf } from '../base/index.js'
import { ByFolder } from './by_folder.js'

/** Clocks of file systems lie behind ours by so much. */
const coarse_ms = 50
const quietly = { throwIfNoEntry: false } as const

/** The folders below a directory in which the files told of lie. */
export class FoldersBelow {
  /** Each behind those above it. */
  private readonly all = new Set<string>()
  private readonly holding = new Set<string>()
  private readonly byFolder = new ByFolder((folder) => this.add(folder))

  constructor(private readonly directory: Handle) {}

  /** An engine told of a file. */
  found(path: string): void {
    this.byFolder.of(path)
  }

  private add(folder: string): void {
    if (folder === this.directory.path || this.all.has(folder)) return
    const above = parentOf(folder)
    this.add(above)
    this.all.add(folder)
    if (above !== this.directory.path) this.holding.add(above)
  }

  /**
   * ripgrep looks names up by their paths: a directory that is swapped for a link meanwhile would lead it out. Who swaps one changes the
   * directory that holds it, which then says so: its time of change cannot be set. Tells of a path whether it lies below such a directory,
   * for what was read of contents also in one, `undefined` where none is; and whether all directories are of one device. `since` is when
   * ripgrep was started, in ms.
   */
  doubts(seen: 'names' | 'contents', since: number): { doubtful: ((path: string) => boolean) | undefined; one_device: boolean } {
    // Names are those of the folder that was read; a file is opened by its name.
    const { moved, one_device } = this.movedOf([...(seen === 'contents' ? this.all : this.holding)], since - coarse_ms)
    if (moved.size === 0) return { doubtful: undefined, one_device }
    const base = this.directory.path
    const doubtful = new Map<string, boolean>([[base, moved.has(base)]])
    for (const folder of this.all) doubtful.set(folder, moved.has(folder) || doubtful.get(parentOf(folder))!)
    return { doubtful: (path) => doubtful.get(parentOf(path))!, one_device }
  }

  /** Those of the folders, and the one that holds them all, in which a name was changed. */
  private movedOf(folders: string[], since: number): { moved: Set<string>; one_device: boolean } {
    const { path, ref, stat } = this.directory
    const moved = new Set<string>()
    const device = Number(stat.dev)
    let one_device = true
    const lookAt = (folder: string, below: string): void => {
      const stats = below.includes('\\x') ? undefined : lstatSync(ref + below, quietly)
      if (!stats?.isDirectory() || stats.ctimeMs >= since) moved.add(folder)
      one_device &&= stats?.dev === device
    }
    // The lowest first: what leads us astray on the way to one shows in those above it, which are looked at later.
    for (const folder of folders.reverse()) lookAt(folder, path === '.' ? `/${folder}` : folder.slice(path.length))
    lookAt(path, '/.')
    return { moved, one_device }
  }
}
