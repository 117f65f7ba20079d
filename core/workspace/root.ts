import { lstatSync } from 'node:fs'
import { openRoot, statDirectory, type Directory } from '../files/index.js'
import { problem } from '../shapes/index.js'
import { openSeal, type Seal } from '../system/index.js'
import { createSecretFilter } from './hidden_paths.js'

/** The open root of a workspace. All views of the workspace share one. */
export class WorkspaceRoot {
  readonly directory: Directory
  readonly seal: Seal
  readonly isSecret: ((path: string) => boolean) | undefined
  readonly #identity: { readonly dev: bigint; readonly ino: bigint }
  /** True if the root was checked in this microtask. */
  #checked = false

  /** Takes the real `path` of the root and all absolute `spellings` of it, the real one first. */
  constructor(
    readonly path: string,
    readonly spellings: readonly [string, ...string[]],
    readonly home: string,
    readonly user: string,
  ) {
    this.isSecret = createSecretFilter(path, home)
    this.directory = openRoot(path)
    this.#identity = statDirectory(this.directory)
    // A moved folder keeps its seal; a copy or a clone gets another one.
    this.seal = openSeal(home, String(this.#identity.ino))
  }

  /**
   * Returns the lock key of the journal. A key from the folder of the journal would change when the first transaction
   * makes that folder.
   */
  get journalKey(): string {
    return `${this.#identity.dev}:${this.#identity.ino}//journal`
  }

  /** Throws VT_FILE_STALE once another folder has the name of the root. */
  refuseMoved(): void {
    if (this.#checked) return
    const { ino, dev } = this.#identity
    // Every call asks. A `stat` with plain numbers is faster, where a number can hold the inode.
    const now = lstatSync(this.path, { bigint: ino > Number.MAX_SAFE_INTEGER, throwIfNoEntry: false })
    if (now && BigInt(now.ino) === ino && BigInt(now.dev) === dev) {
      // Calls that begin together share one check.
      this.#checked = true
      return queueMicrotask(() => (this.#checked = false))
    }
    throw problem(
      'VT_FILE_STALE',
      { path: this.path },
      {
        hint: 'The folder of the workspace was moved or replaced. Start the program again.',
      },
    )
  }
}
