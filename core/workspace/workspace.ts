import { mkdirSync, readlinkSync, realpathSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { problem, VtError, type Place } from '../shapes/index.js'
import { errno, systemRefusal, shownPath, userOf } from '../system/index.js'
import { clearOwnFolders, putAside } from './aside.js'
import { statOf, syncDirectory, type Directory } from './directory.js'
import { recover, transact } from './journal.js'
import { lock } from './lock.js'
import { isOwnState } from './places.js'
import { WorkspaceReading } from './reading.js'
import { syncNames, moveInto, refuseTaken, secondName } from './rename.js'
import { attempt, dropTemps, endNote, noteTemps, sweepTemps, tempIn } from './temp.js'
import { copyTree, measure } from './tree.js'
import type { CommitPoint, Extent, OpenAs, Operation, Over, Workspace, Written } from './types.js'
import type { Spot } from './walk.js'
import { writeFile } from './writer.js'

/** A workspace with the end of its life: `close` lets go of the root. */
export interface OpenWorkspace extends Workspace, Pick<WorkspaceReading, 'lead'> {
  filtered(isHidden: (path: string) => boolean): OpenWorkspace
  /** A view for one call: its `places`, if anybody judged them, lead where they led then. Throws VT_FILE_STALE later. */
  holding(places: readonly Place[] | undefined, passCommit: CommitPoint): OpenWorkspace
  /** Returns a view in which these paths and the folders above them are no links. Throws VT_FILE_STALE for a link. */
  asNamed(paths: readonly string[]): OpenWorkspace
  /** What lay among our own state and was put aside: where it was and where it is now. */
  readonly foreign: Map<string, string>
  /** Throws VT_FILE_STALE when another folder has taken the name of the root. */
  refuseMoved(): void
  /** Completes changes of several files that a process left unfinished. Throws VT_PATCH_RECOVERY. */
  recover(): Promise<void>
  close(): void
}

/**
 * The one way to the files below `root`. `home` is the `.vtcode` folder of the user, whose key seals what is kept, and which is kept from readers where it lies in here; `foreign` is filled
 * with what is put aside, for somebody who has the same folder open and tells. Throws VT_PATH_NOT_FOUND, VT_PATH_NOT_DIRECTORY, VT_PATH_PERMISSION.
 */
export function openWorkspace(root: string, { home, user, env, foreign = new Map() }: OpenAs): OpenWorkspace {
  // Its paths, its files that are open and its processes are others; on WSL the system is Linux.
  if (process.platform === 'win32') throw problem('VT_PLATFORM', { system: 'Windows' })
  try {
    const real = realpathSync(root)
    return new Confined(real, [real, resolve(root)], home, user ?? userOf({ env }), foreign)
  } catch (error) {
    throw systemRefusal(error, root)
  }
}

const notes = '.vtcode/tmp'
const largestCopy = { entries: 20_000, bytes: 1024 ** 3 }

class Confined extends WorkspaceReading implements OpenWorkspace {
  private readonly noted = new Set<string>()

  constructor(
    root: string,
    roots: readonly [string, ...string[]],
    home: string,
    user: string,
    readonly foreign: Map<string, string>,
  ) {
    super(root, roots, home, user)
    this.inNotes((folder) => sweepTemps(folder, this.seal, (path) => this.stand(path)))
  }

  async lock(paths: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable> {
    await this.recover()
    const asked = paths.map((path) => this.normalize(path))
    return lock(
      asked.map((path) => this.keyOf(path)),
      shownPath(asked.join(', ')),
      signal,
    )
  }

  /** One key from the first change on: a key by what is there would be another one when the folder of the journal has been made. */
  holdJournal(): Promise<AsyncDisposable> {
    return lock([`${this.identity.dev}:${this.identity.ino}//journal`], '.vtcode/journal')
  }

  write(path: string, bytes: Uint8Array, over: Over, how: { mode?: number } = {}): Promise<Written> {
    return this.into(path, true, async (spot, asked) => {
      const { stat, lost } = await writeFile(spot, asked, {
        bytes,
        over,
        mode: how.mode,
        commit: () => this.committing(asked),
      })
      return { resolved: spot.resolved, stat, created: !spot.entry, lost }
    })
  }

  transact(operations: readonly Operation[]): Promise<Written[]> {
    return transact(this, this.whole ?? this, operations, (how) => this.passCommit?.(how))
  }

  async recover(): Promise<void> {
    const whole = this.whole ?? this
    await clearOwnFolders(whole)
    await recover(whole)
  }

  setAside(path: string): Promise<void> {
    return putAside(this, path)
  }

  async remove(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    await this.from(path, async (spot, asked) => {
      this.committing(asked)
      if (spot.entry!.stats.isDirectory() && !recursive) rmdirSync(spot.directory.at(spot.name))
      else this.takeAway(spot, asked)
    })
  }

  async rename(
    from: string,
    to: string,
    { replace = false, aside = false }: { replace?: boolean; aside?: boolean } = {},
  ): Promise<void> {
    await this.from(from, (source) => {
      this.refuseHidden(source)
      return this.into(to, false, async (target, asked) => {
        refuseTaken(target, replace, asked)
        if (!aside && source.entry!.stats.isSymbolicLink())
          this.refuseLink(readlinkSync(source.directory.at(source.name), 'utf8'), target)
        this.committing(from)
        try {
          moveInto(source, target, replace, target.entry && this.tempBeside(target))
        } catch (error) {
          if (errno(error) !== 'EXDEV') throw error
          await this.copyInto(source, target, replace, () => this.takeAway(source, from))
        }
      })
    })
  }

  async copy(from: string, to: string, { replace = false }: { replace?: boolean } = {}): Promise<Extent> {
    return this.from(from, (source, asked) => {
      this.refuseHidden(source)
      const extent = measure(source.directory, source.name, asked, largestCopy)
      return this.into(to, false, async (target, path) => {
        refuseTaken(target, replace, path)
        await this.copyInto(source, target, replace, undefined, () => this.committing(path))
        return extent
      })
    })
  }

  async keep(path: string, as: string): Promise<void> {
    await this.from(path, (source) => {
      this.refuseHidden(source)
      return this.into(as, false, async (target) => {
        const [old, kept] = [source.directory.at(source.name), target.directory.at(target.name)]
        try {
          // Another name may write into the same bytes: then only a copy stays what it is.
          if (source.entry!.stats.nlink > 1n || !secondName(old, kept)) await copyFile(old, kept)
        } catch (error) {
          if (errno(error) === 'EEXIST') return
          if (errno(error) !== 'EXDEV') throw error
          await copyFile(old, kept)
        }
      })
    })
  }

  async measure(path: string): Promise<Extent> {
    return this.from(path, async ({ directory, name }, asked) => measure(directory, name, asked))
  }

  close(): void {
    dropTemps(this.directory)
    if (this.noted.size > 0) this.inNotes((folder) => endNote(folder, this.seal))
    this.directory.close()
  }

  /** Runs `use` where an entry is, a link in the last segment not followed. Throws VT_PATH_NOT_FOUND; VT_INPUT_INVALID for the root. */
  private async from<T>(path: string, use: (spot: Spot, asked: string) => Promise<T>): Promise<T> {
    const asked = this.normalize(path)
    refuseRoot(asked)
    const spot = this.walk(asked, false)
    try {
      if (!spot.entry) throw this.withSimilar(problem('VT_PATH_NOT_FOUND', { path: shownPath(asked) }), asked)
      if (spot.entry.stats.isSymbolicLink()) this.refuseLeading(asked)
      return await use(spot, asked)
    } catch (error) {
      throw systemRefusal(error, asked)
    } finally {
      spot.close()
    }
  }

  /** Runs `use` where an entry is to be, its missing parents made; they go again if it fails. */
  private async into<T>(path: string, follow: boolean, use: (spot: Spot, asked: string) => Promise<T>): Promise<T> {
    const asked = this.normalize(path)
    refuseRoot(asked)
    const made: Spot[] = []
    let spot: Spot | undefined
    try {
      spot = this.reach(asked, follow, made)
      this.note(spot)
      return await use(spot, asked)
    } catch (error) {
      for (const { directory, name } of made.reverse()) attempt(() => rmdirSync(directory.at(name)))
      throw systemRefusal(error, asked)
    } finally {
      spot?.close()
      for (const parent of made) parent.close()
    }
  }

  private reach(path: string, follow: boolean, made: Spot[]): Spot {
    try {
      return this.walk(path, follow)
    } catch (error) {
      if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND' || !path.includes('/')) throw error
    }
    const parent = this.reach(path.slice(0, path.lastIndexOf('/')), true, made)
    if (parent.entry) parent.close()
    else {
      mkdirSync(parent.directory.at(parent.name), { mode: isOwnState(path) ? 0o700 : 0o755 })
      made.push(parent)
      syncDirectory(parent.directory)
    }
    return this.walk(path, follow)
  }

  /** Throws VT_PATH_OUTSIDE for a link that leads out: it is not touched, be it as a link. */
  private refuseLeading(link: string): void {
    // A link that was put aside is judged where it is put back.
    if (isOwnState(link)) return
    try {
      this.walk(link, true).close()
    } catch (error) {
      if (error instanceof VtError && error.code === 'VT_PATH_OUTSIDE') throw error
    }
  }

  /** Removes the name at once and restores it if the disk refuses; removes the contents afterwards. */
  private takeAway(spot: Spot, path: string): void {
    const { directory, name } = spot
    if (spot.entry!.stats.isDirectory()) measure(directory, name, path)
    const temp = this.tempBeside(spot)
    const [here, away] = [directory.at(name), directory.at(temp.name)]
    renameSync(here, away)
    syncNames([directory], () => renameSync(away, here))
    temp.drop()
  }

  /** `after` belongs to it: where that fails there is no copy. `commit` comes when all but the name is there. */
  private async copyInto(
    source: Spot,
    target: Spot,
    replace: boolean,
    after?: () => void,
    commit?: () => void,
  ): Promise<void> {
    const temp = this.tempBeside(target)
    try {
      await copyTree(source.directory, source.name, target.directory, temp.name, (text) =>
        this.refuseLink(text, target),
      )
      commit?.()
      moveInto(
        { ...target, name: temp.name, entry: source.entry },
        target,
        replace,
        target.entry && this.tempBeside(target),
        after,
      )
    } finally {
      temp.drop()
    }
  }

  /** Throws VT_PATH_OUTSIDE for the text of a link that would lead out from the folder of `target`. */
  private refuseLink(text: string, { resolved }: Spot): void {
    this.normalize(text.startsWith('/') ? text : `${resolved}/../${text}`)
  }

  private tempBeside(spot: Spot) {
    this.note(spot)
    return tempIn(spot.directory)
  }

  /** So that the next to open the workspace finds what a killed process leaves there. */
  private note({ resolved }: Spot): void {
    const path = resolved.includes('/') ? resolved.slice(0, resolved.lastIndexOf('/')) : '.'
    if (this.noted.has(path)) return
    this.noted.add(path)
    attempt(() => {
      const made: Spot[] = []
      this.reach(`${notes}/.gitignore`, false, made).close()
      for (const parent of made) parent.close()
    })
    this.inNotes((folder) => {
      attempt(() => writeFileSync(folder.at('.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }))
      noteTemps(folder, this.seal, path)
    })
  }

  private inNotes(use: (folder: Directory) => void): void {
    attempt(() => {
      const folder = this.stand(notes)
      try {
        use(folder)
      } finally {
        folder.close()
      }
    })
  }

  private stand(path: string): Directory {
    const spot = this.walk(path, true)
    try {
      return spot.directory.enter(spot.name)
    } finally {
      spot.close()
    }
  }

  /** One text for one place, however it is spelt and from whichever root it is seen. */
  private keyOf(path: string): string {
    return this.reached(path, true, (spot) => {
      const { dev, ino } = statOf(spot.directory)
      return `${dev}:${ino}/${spot.name}`
    })
  }
}

function refuseRoot(path: string): void {
  if (path === '.')
    throw problem('VT_INPUT_INVALID', { problem: "'.' is the workspace itself; name something inside it." })
}
