import { writeFileSync } from 'node:fs'
import {
  ignoreErrors,
  removeOwnRecord,
  recordTemps,
  sweepTemps,
  createTempName,
  type Directory,
  type Location,
  type TempName,
} from '../files/index.js'
import type { ConfinedPaths } from './confined_paths.js'
import { makeParents } from './make_parents.js'

const RECORDS_FOLDER = '.vtcode/tmp'

/**
 * Records the directories in which this process makes temporary files. The next process that opens the workspace
 * removes the files that a killed one has left there. All views of a workspace share one instance; each call names the
 * view that it walks with.
 */
export class TempRecords {
  readonly #recorded = new Set<string>()

  /** Without `enabled`, no folder for records is made in the workspace. */
  constructor(private readonly enabled = true) {}

  /** Removes the temporary files of processes that are gone. */
  sweep(paths: ConfinedPaths): void {
    useFolder(paths, (folder) => sweepTemps(folder, paths.root.seal, (path) => paths.openPath(path)))
  }

  /** Returns an unused name in the directory of `location`, which is recorded first. */
  createTemp(paths: ConfinedPaths, location: Location): TempName {
    this.record(paths, location)
    return createTempName(location.directory)
  }

  /** Records the directory of an entry, once. */
  record(paths: ConfinedPaths, { resolved }: Location): void {
    const path = resolved.includes('/') ? resolved.slice(0, resolved.lastIndexOf('/')) : '.'
    if (!this.enabled || this.#recorded.has(path)) return
    this.#recorded.add(path)
    ignoreErrors(() => {
      const made: Location[] = []
      makeParents(paths, `${RECORDS_FOLDER}/.gitignore`, false, made).close()
      for (const parent of made) parent.close()
    })
    useFolder(paths, (folder) => {
      ignoreErrors(() => writeFileSync(folder.pathTo('.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }))
      recordTemps(folder, paths.root.seal, path)
    })
  }

  /** Removes the record of this process. */
  close(paths: ConfinedPaths): void {
    if (this.#recorded.size > 0) useFolder(paths, (folder) => removeOwnRecord(folder, paths.root.seal))
  }
}

function useFolder(paths: ConfinedPaths, use: (folder: Directory) => void): void {
  ignoreErrors(() => {
    const folder = paths.openPath(RECORDS_FOLDER)
    try {
      use(folder)
    } finally {
      folder.close()
    }
  })
}
