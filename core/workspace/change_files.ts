import { readlinkSync, renameSync, rmdirSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import {
  ignoreErrors,
  copyTree,
  createMovedPathError,
  measure,
  moveInto,
  refuseTaken,
  tryLink,
  syncOrUndo,
  writeFile,
  type Extent,
  type ExpectedState,
  type Location,
  type WriteResult,
} from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { errno, escapePath, toPathError } from '../system/index.js'
import type { ConfinedPaths } from './confined_paths.js'
import { makeParents } from './make_parents.js'
import { isOwnState } from './own_state.js'
import { placeDirectory, placeLink, removeOtherKind, type PlacedEntry } from './place_entry.js'
import type { TempRecords } from './temp_records.js'

const MAX_COPY: Extent = { entries: 20_000, bytes: 1024 ** 3 }

/** Writes, moves, copies and removes the entries of one view. */
export class FileChanger {
  readonly #paths: ConfinedPaths
  readonly #temps: TempRecords

  constructor(paths: ConfinedPaths, temps: TempRecords) {
    this.#paths = paths
    this.#temps = temps
  }

  write(path: string, bytes: Uint8Array, expected: ExpectedState, how: { mode?: number } = {}): Promise<WriteResult> {
    return this.#withTarget(path, { follow: true, whole: false }, async (location, asked) => {
      const { stat, lost } = await writeFile(location, asked, {
        bytes,
        expected,
        mode: how.mode,
        commit: () => this.#paths.passCommit(asked),
      })
      return { resolved: location.resolved, stat, created: !location.entry, lost }
    })
  }

  async remove(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    await this.#withSource(path, async (location, asked) => {
      await this.#checkSource(location, asked)
      this.#paths.passCommit(asked)
      if (location.entry!.stats.isDirectory() && !recursive) rmdirSync(location.directory.pathTo(location.name))
      else this.#removeEntry(location, asked)
    })
  }

  async rename(
    from: string,
    to: string,
    { replace = false, allowOutsideLink = false }: { replace?: boolean; allowOutsideLink?: boolean } = {},
  ): Promise<void> {
    await this.#withSource(from, async (source, path) => {
      this.#paths.refuseHidden(source)
      await this.#checkSource(source, path)
      return this.#withTarget(to, { follow: false, whole: isFolder(source) }, async (target, asked) => {
        refuseTaken(target, replace, asked)
        if (!allowOutsideLink && source.entry!.stats.isSymbolicLink())
          this.#refuseLinkText(readlinkSync(source.directory.pathTo(source.name), 'utf8'), target)
        this.#paths.passCommit(from)
        try {
          moveInto(source, target, replace, target.entry && this.#createTemp(target))
        } catch (error) {
          if (errno(error) !== 'EXDEV') throw error
          await this.#copyInto(source, target, replace, () => this.#removeEntry(source, from))
        }
      })
    })
  }

  async copy(from: string, to: string, { replace = false }: { replace?: boolean } = {}): Promise<Extent> {
    return this.#withSource(from, async (source, asked) => {
      this.#paths.refuseHidden(source)
      // A copy of a folder has its protected files too.
      await this.#checkSource(source, asked)
      const extent = measure(source.directory, source.name, asked, MAX_COPY)
      return this.#withTarget(to, { follow: false, whole: isFolder(source) }, async (target, path) => {
        refuseTaken(target, replace, path)
        await this.#copyInto(source, target, replace, undefined, () => this.#paths.passCommit(path))
        return extent
      })
    })
  }

  /** Gives the entry at a path a state, whatever is there; a directory that holds other entries stays and fails. */
  async place(path: string, state: PlacedEntry): Promise<void> {
    if (state.kind === 'nothing') {
      return this.#withTarget(path, { follow: false, whole: false }, async (location) => {
        if (location.entry) removeOtherKind(location, 'nothing')
      })
    }
    await this.#withTarget(path, { follow: false, whole: false }, async (location) => {
      if (location.entry) removeOtherKind(location, state.kind)
    })
    await this.#withTarget(path, { follow: false, whole: false }, async (location, asked) => {
      if (state.kind === 'directory') placeDirectory(location, state.mode)
      else if (state.kind === 'link') placeLink(location, state.target)
      else await writeFile(location, asked, { ...state, expected: 'anything', commit: () => {} })
    })
  }

  async linkOrCopy(path: string, as: string): Promise<void> {
    await this.#withSource(path, (source) => {
      this.#paths.refuseHidden(source)
      return this.#withTarget(as, { follow: false, whole: false }, async (target) => {
        const [old, kept] = [source.directory.pathTo(source.name), target.directory.pathTo(target.name)]
        try {
          // A program may write through another name of the same bytes, so a file with several names is copied.
          if (source.entry!.stats.nlink > 1n || !tryLink(old, kept)) await copyFile(old, kept)
        } catch (error) {
          if (errno(error) === 'EEXIST') return
          if (errno(error) !== 'EXDEV') throw error
          await copyFile(old, kept)
        }
      })
    })
  }

  async measure(path: string): Promise<Extent> {
    return this.#withSource(path, async ({ directory, name }, asked) => measure(directory, name, asked))
  }

  /**
   * Runs `use` on an existing entry; a link in the last segment stays a link. Throws VT_PATH_NOT_FOUND;
   * VT_INPUT_INVALID for the root.
   */
  async #withSource<T>(path: string, use: (location: Location, asked: string) => Promise<T>): Promise<T> {
    const asked = this.#paths.normalize(path)
    refuseRoot(asked)
    const location = this.#paths.walk(asked, false)
    try {
      if (!location.entry)
        throw this.#paths.addSimilar(problem('VT_PATH_NOT_FOUND', { path: escapePath(asked) }), asked)
      if (location.entry.stats.isSymbolicLink()) this.#refuseOutsideLink(asked)
      return await use(location, asked)
    } catch (error) {
      throw toPathError(error, asked)
    } finally {
      location.close()
    }
  }

  /** Runs `use` where an entry will be and makes its missing parents. A failure removes the new parents again. */
  async #withTarget<T>(
    path: string,
    how: { follow: boolean; whole: boolean },
    use: (location: Location, asked: string) => Promise<T>,
  ): Promise<T> {
    const asked = this.#paths.normalize(path)
    refuseRoot(asked)
    const made: Location[] = []
    let location: Location | undefined
    try {
      const judged = await this.#paths.checkPluginChange(asked, how)
      location = makeParents(this.#paths, asked, how.follow, made)
      requirePlace(location, judged, asked)
      this.#temps.record(this.#paths, location)
      return await use(location, asked)
    } catch (error) {
      for (const { directory, name } of made.reverse()) ignoreErrors(() => rmdirSync(directory.pathTo(name)))
      throw toPathError(error, asked)
    } finally {
      location?.close()
      for (const parent of made) parent.close()
    }
  }

  /** Rejects where a plugin may not change an existing entry. */
  async #checkSource(location: Location, asked: string): Promise<void> {
    const judged = await this.#paths.checkPluginChange(asked, { follow: false, whole: isFolder(location) })
    requirePlace(location, judged, asked)
  }

  /** Throws VT_PATH_OUTSIDE for a link that leads out of the workspace: such a link is never changed. */
  #refuseOutsideLink(link: string): void {
    // A quarantined link is judged when it is restored.
    if (isOwnState(link)) return
    try {
      this.#paths.walk(link, true).close()
    } catch (error) {
      if (error instanceof VtError && error.code === 'VT_PATH_OUTSIDE') throw error
    }
  }

  /** Throws VT_PATH_OUTSIDE for the text of a link that would lead out from the folder of `target`. */
  #refuseLinkText(text: string, { resolved }: Location): void {
    this.#paths.normalize(text.startsWith('/') ? text : `${resolved}/../${text}`)
  }

  /** Removes the name at once and restores it if the disk refuses. The contents are removed after the name. */
  #removeEntry(location: Location, path: string): void {
    const { directory, name } = location
    if (location.entry!.stats.isDirectory()) measure(directory, name, path)
    const temp = this.#createTemp(location)
    const [here, away] = [directory.pathTo(name), directory.pathTo(temp.name)]
    renameSync(here, away)
    syncOrUndo([directory], () => renameSync(away, here))
    temp.drop()
  }

  /** Copies an entry. `commit` runs when everything but the name is there; a failure of `after` undoes the copy. */
  async #copyInto(
    source: Location,
    target: Location,
    replace: boolean,
    after?: () => void,
    commit?: () => void,
  ): Promise<void> {
    const temp = this.#createTemp(target)
    try {
      await copyTree(source.directory, source.name, target.directory, temp.name, (text) =>
        this.#refuseLinkText(text, target),
      )
      commit?.()
      moveInto(
        { ...target, name: temp.name, entry: source.entry },
        target,
        replace,
        target.entry && this.#createTemp(target),
        after,
      )
    } finally {
      temp.drop()
    }
  }

  #createTemp(location: Location) {
    return this.#temps.createTemp(this.#paths, location)
  }
}

/** Throws VT_FILE_STALE for a path that leads elsewhere than when the change was judged. */
function requirePlace({ resolved }: Location, judged: string | undefined, path: string): void {
  if (judged !== undefined && judged !== resolved) throw createMovedPathError(path)
}

const isFolder = ({ entry }: Location): boolean => entry!.stats.isDirectory()

function refuseRoot(path: string): void {
  if (path === '.')
    throw problem('VT_INPUT_INVALID', { problem: "'.' is the workspace itself; name something inside it." })
}
