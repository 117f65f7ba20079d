import { readdirSync } from 'node:fs'
import { openLocation, createMovedPathError, walk, type Directory, type Location } from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { normalizePath, escapePath, splitPath } from '../system/index.js'
import { findNearest } from '../text/index.js'
import { explainSecret, SECRET_NEXT_STEP } from './hidden_paths.js'
import type { JudgedPlaces } from './judged_places.js'
import { isOwnState, isReserved } from './own_state.js'
import type { WorkspaceRoot } from './root.js'
import type { CommitPoint, PluginLimits } from './types.js'

/** Limits of one view of a workspace. A view without limits sees all files. */
export interface ViewLimits {
  /** Returns whether a rule hides a file from the holder of the view. */
  readonly isHidden?: (path: string) => boolean
  /** The places that the call of the view named. */
  readonly judged?: JudgedPlaces
  /** Runs before a change of anything but our own state. */
  readonly passCommit?: CommitPoint
  /** Present if the holder of the view is the code of a plugin. */
  readonly plugin?: PluginLimits
}

/** The names that one search for similar ones reads, at most. */
const MAX_SIMILAR_NAMES = 2000

/** Checks the paths of one view: every path of a workspace is walked and judged here. */
export class ConfinedPaths {
  constructor(
    readonly root: WorkspaceRoot,
    readonly limits: ViewLimits,
  ) {}

  normalize(path: string): string {
    return normalizePath(path, this.root.spellings)
  }

  resolve(path: string, { follow = true }: { follow?: boolean } = {}): string {
    const asked = this.normalize(path)
    const resolved = this.applyToExisting(asked, follow, (location) => location.resolved)
    const expected = this.limits.judged?.expectPlace(asked, follow)
    // The walk of a missing path ends at its last folder that exists, so the result is compared again.
    if (expected?.left === 0 && expected.at !== resolved) throw createMovedPathError(asked)
    return resolved
  }

  /** Returns where a path leads and where its last name is. One walk finds both, unless the last name is a link. */
  locate(path: string): { resolved: string; entry: string } {
    const asked = this.normalize(path)
    let isLink = false
    const entry = this.applyToExisting(asked, false, (location) => {
      isLink = location.entry?.stats.isSymbolicLink() === true
      return location.resolved
    })
    return { resolved: isLink ? this.resolve(asked) : entry, entry }
  }

  isVisible(path: string): boolean {
    return this.limits.isHidden?.(path) !== true && this.root.isSecret?.(path) !== true
  }

  /**
   * Returns whether a file may be opened. State of the program is always open: the policies judge calls that name it.
   * A plugin reads records of the program only if its call named them.
   */
  isReadable(path: string): boolean {
    const { plugin } = this.limits
    if (plugin) return this.isVisible(path) && (!isOwnState(path) || plugin.isNamed(path))
    return this.isVisible(path) || (path.startsWith('.vtcode/') && this.root.isSecret?.(path) !== true)
  }

  /** True if any file may be hidden from this view. */
  get hidesFiles(): boolean {
    return (this.limits.isHidden ?? this.limits.plugin ?? this.root.isSecret) !== undefined
  }

  /**
   * Walks a normalised path. Throws VT_PATH_OUTSIDE or VT_FILE_STALE for a path that links lead astray; else as
   * `walk`.
   */
  walk(path: string, follow: boolean): Location {
    const { directory, spellings } = this.root
    const location = walk(directory, path, spellings, follow, this.limits.judged?.expectPlace(path, follow))
    if (location.resolved === path || !this.#isAstray(path, location.resolved)) return location
    location.close()
    throw isOwnState(path) ? problem('VT_PATH_OUTSIDE', { path: escapePath(path) }) : createMovedPathError(path)
  }

  /** Opens the directory that a normalised path leads to. The caller closes it. */
  openPath(path: string): Directory {
    const location = this.walk(path, true)
    try {
      return location.directory.openDirectory(location.name)
    } finally {
      location.close()
    }
  }

  /**
   * Applies `use` to the deepest entry of a path that can exist, and returns its text followed by the missing names.
   */
  applyToExisting(path: string, follow: boolean, use: (location: Location) => string): string {
    try {
      const location = this.walk(path, follow)
      try {
        return use(location)
      } finally {
        location.close()
      }
    } catch (error) {
      if (!path.includes('/') || !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
      const cut = path.lastIndexOf('/')
      return this.applyToExisting(path.slice(0, cut), true, use) + path.slice(cut)
    }
  }

  /**
   * Passes the commit point of a change at `path`. Changes of our own state need none: they happen before and after
   * the change that they serve. Throws VT_CALL_ABORTED, and VT_FILE_STALE for a path that the call did not name
   * though it named others.
   */
  passCommit(path: string): void {
    const named = this.limits.judged?.isNamed(path)
    if (!named && path.startsWith('.vtcode/')) return
    if (named === false) throw createMovedPathError(path)
    this.limits.passCommit?.('changing')
  }

  /**
   * Lets a plugin change the entry at a path, and returns where the entry is; `undefined` for the program itself.
   * Rejects for a change that is not permitted.
   */
  async checkPluginChange(
    path: string,
    { follow, whole }: { follow: boolean; whole: boolean },
  ): Promise<string | undefined> {
    const { plugin } = this.limits
    if (!plugin) return undefined
    const { resolved, entry } = this.locate(path)
    await plugin.checkChange({ given: path, resolved: follow ? resolved : entry, entry, whole })
    return follow ? resolved : entry
  }

  /**
   * Throws VT_POLICY_DENIED for an entry that is hidden or holds a hidden file: another name would make the file
   * readable.
   */
  refuseHidden({ resolved, directory, name, entry }: Location): void {
    if (!this.hidesFiles) return
    if (!this.isReadable(resolved)) throw this.createHiddenError(resolved)
    if (!entry?.stats.isDirectory()) return
    for (const below of readdirSync(directory.pathTo(name), { recursive: true, encoding: 'utf8' })) {
      if (!this.isReadable(`${resolved}/${below}`)) throw this.createHiddenError(`${resolved}/${below}`)
    }
  }

  /** Returns the refusal of a file that a rule hides or that only the user may read. */
  createHiddenError(path: string): VtError {
    const { isSecret } = this.root
    const isUsers = isSecret && [path, this.resolve(path)].some(isSecret)
    const byRule =
      this.limits.plugin && this.isVisible(path)
        ? {
            reason: `'${escapePath(path)}' is a record of this program: a plugin reads it only if its call names it.`,
            way: 'Name the path in an input of the call.',
          }
        : {
            reason: `A rule of policy.deny hides '${escapePath(path)}' from tools.`,
            way: 'The user can change the rule.',
          }
    return problem('VT_POLICY_DENIED', isUsers ? { reason: explainSecret(path), way: SECRET_NEXT_STEP } : byRule, {
      details: { not_applied: true },
    })
  }

  /**
   * Explains an error that says that nothing is there: by a link on the path that leads to nothing, or else by at most
   * three similar names.
   */
  addSimilar(error: unknown, path: string): unknown {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') return error
    const dangling = this.#findDanglingLink(path)
    if (dangling) return createDanglingLinkError(path, dangling)
    const similar = this.#findSimilar(path)
    if (similar.length === 0) return error
    const named = `; similar: ${similar.map(escapePath).join(', ')}`
    return problem('VT_PATH_NOT_FOUND', { path: escapePath(path), similar: named }, { details: { similar } })
  }

  /**
   * Returns whether links lead a path to a place that is closed to it: out of our own state or, for a call, to
   * unjudged state of git or of this program.
   */
  #isAstray(path: string, resolved: string): boolean {
    const { judged } = this.limits
    // The user may have made `.vtcode` itself a link.
    const folder = resolved.slice(0, Math.max(0, resolved.length - path.length + '.vtcode'.length))
    if (isOwnState(path)) return resolved !== folder + path.slice('.vtcode'.length) || isReserved(`${folder}/x`)
    return judged !== undefined && isReserved(resolved) && !isReserved(path) && !judged.isRelated(resolved)
  }

  /** Returns the first link on a path whose target does not exist, and the target. */
  #findDanglingLink(path: string): { link: string; target: string } | undefined {
    const names = splitPath(path)
    for (let count = 1; count <= names.length; count++) {
      const link = names.slice(0, count).join('/')
      const target = this.#findMissingTarget(link)
      if (target !== undefined) return { link, target }
    }
    return undefined
  }

  /** Returns where a link leads if nothing is there; `undefined` for any other entry. */
  #findMissingTarget(link: string): string | undefined {
    try {
      const location = this.walk(link, false)
      location.close()
      if (!location.entry?.stats.isSymbolicLink()) return undefined
      const target = this.walk(link, true)
      target.close()
      return target.entry ? undefined : target.resolved
    } catch (error) {
      return error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND' ? 'a missing directory' : undefined
    }
  }

  #findSimilar(path: string): string[] {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const parent = path.slice(0, -name.length - 1)
    try {
      const handle = openLocation(this.walk(parent || '.', true), parent)
      try {
        const known = new Set(readdirSync(handle.ref).slice(0, MAX_SIMILAR_NAMES))
        const found: string[] = []
        for (let one; found.length < 3 && (one = findNearest(name, known)); known.delete(one))
          found.push(parent ? `${parent}/${one}` : one)
        return found
      } finally {
        void handle.close()
      }
    } catch {
      return []
    }
  }
}

function createDanglingLinkError(path: string, { link, target }: { link: string; target: string }): VtError {
  const missing = target === 'a missing directory' ? target : `'${escapePath(target)}', which does not exist`
  return problem(
    'VT_PATH_NOT_FOUND',
    { path: escapePath(path), similar: `: '${escapePath(link)}' is a link to ${missing}` },
    { hint: 'Use the path of an existing file, or replace the link.', details: { link } },
  )
}
