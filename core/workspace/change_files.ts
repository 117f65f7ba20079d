import { readlinkSync, renameSync, rmdirSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import {
  attempt,
  copyTree,
  measure,
  moveInto,
  refuseTaken,
  secondName,
  syncNames,
  writeFile,
  type Extent,
  type Over,
  type Spot,
  type Written,
} from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { errno, shownPath, systemRefusal } from '../system/index.js'
import type { ConfinedPaths } from './confined_paths.js'
import { makeParents } from './make_parents.js'
import { isOwnState } from './own_state.js'
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

  write(path: string, bytes: Uint8Array, over: Over, how: { mode?: number } = {}): Promise<Written> {
    return this.#withTarget(path, true, async (spot, asked) => {
      const { stat, lost } = await writeFile(spot, asked, {
        bytes,
        over,
        mode: how.mode,
        commit: () => this.#paths.passCommit(asked),
      })
      return { resolved: spot.resolved, stat, created: !spot.entry, lost }
    })
  }

  async remove(path: string, { recursive = false }: { recursive?: boolean } = {}): Promise<void> {
    await this.#withSource(path, async (spot, asked) => {
      this.#paths.passCommit(asked)
      if (spot.entry!.stats.isDirectory() && !recursive) rmdirSync(spot.directory.at(spot.name))
      else this.#removeEntry(spot, asked)
    })
  }

  async rename(
    from: string,
    to: string,
    { replace = false, aside = false }: { replace?: boolean; aside?: boolean } = {},
  ): Promise<void> {
    await this.#withSource(from, (source) => {
      this.#paths.refuseHidden(source)
      return this.#withTarget(to, false, async (target, asked) => {
        refuseTaken(target, replace, asked)
        if (!aside && source.entry!.stats.isSymbolicLink())
          this.#refuseLinkText(readlinkSync(source.directory.at(source.name), 'utf8'), target)
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
    return this.#withSource(from, (source, asked) => {
      this.#paths.refuseHidden(source)
      const extent = measure(source.directory, source.name, asked, MAX_COPY)
      return this.#withTarget(to, false, async (target, path) => {
        refuseTaken(target, replace, path)
        await this.#copyInto(source, target, replace, undefined, () => this.#paths.passCommit(path))
        return extent
      })
    })
  }

  async keep(path: string, as: string): Promise<void> {
    await this.#withSource(path, (source) => {
      this.#paths.refuseHidden(source)
      return this.#withTarget(as, false, async (target) => {
        const [old, kept] = [source.directory.at(source.name), target.directory.at(target.name)]
        try {
          // A program may write through another name of the same bytes, so a file with several names is copied.
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
    return this.#withSource(path, async ({ directory, name }, asked) => measure(directory, name, asked))
  }

  /** Runs `use` on an existing entry; a link in the last segment stays a link. Throws VT_PATH_NOT_FOUND; VT_INPUT_INVALID for the root. */
  async #withSource<T>(path: string, use: (spot: Spot, asked: string) => Promise<T>): Promise<T> {
    const asked = this.#paths.normalize(path)
    refuseRoot(asked)
    const spot = this.#paths.walk(asked, false)
    try {
      if (!spot.entry) throw this.#paths.withSimilar(problem('VT_PATH_NOT_FOUND', { path: shownPath(asked) }), asked)
      if (spot.entry.stats.isSymbolicLink()) this.#refuseOutsideLink(asked)
      return await use(spot, asked)
    } catch (error) {
      throw systemRefusal(error, asked)
    } finally {
      spot.close()
    }
  }

  /** Runs `use` where an entry will be and makes its missing parents. A failure removes the new parents again. */
  async #withTarget<T>(path: string, follow: boolean, use: (spot: Spot, asked: string) => Promise<T>): Promise<T> {
    const asked = this.#paths.normalize(path)
    refuseRoot(asked)
    const made: Spot[] = []
    let spot: Spot | undefined
    try {
      spot = makeParents(this.#paths, asked, follow, made)
      this.#temps.record(this.#paths, spot)
      return await use(spot, asked)
    } catch (error) {
      for (const { directory, name } of made.reverse()) attempt(() => rmdirSync(directory.at(name)))
      throw systemRefusal(error, asked)
    } finally {
      spot?.close()
      for (const parent of made) parent.close()
    }
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
  #refuseLinkText(text: string, { resolved }: Spot): void {
    this.#paths.normalize(text.startsWith('/') ? text : `${resolved}/../${text}`)
  }

  /** Removes the name at once and restores it if the disk refuses. The contents are removed after the name. */
  #removeEntry(spot: Spot, path: string): void {
    const { directory, name } = spot
    if (spot.entry!.stats.isDirectory()) measure(directory, name, path)
    const temp = this.#createTemp(spot)
    const [here, away] = [directory.at(name), directory.at(temp.name)]
    renameSync(here, away)
    syncNames([directory], () => renameSync(away, here))
    temp.drop()
  }

  /** Copies an entry. `commit` runs when everything but the name is there; a failure of `after` undoes the copy. */
  async #copyInto(
    source: Spot,
    target: Spot,
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

  #createTemp(spot: Spot) {
    return this.#temps.createTemp(this.#paths, spot)
  }
}

function refuseRoot(path: string): void {
  if (path === '.')
    throw problem('VT_INPUT_INVALID', { problem: "'.' is the workspace itself; name something inside it." })
}
