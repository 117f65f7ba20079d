import { isUtf8 } from 'node:buffer'
import { lstatSync, readdirSync } from 'node:fs'
import { problem, VtError, type Place } from '../shapes/index.js'
import { normalizePath, sealOf, segments, shownPath, type Seal } from '../system/index.js'
import { nearest } from '../text/index.js'
import { openRoot, statOf } from './directory.js'
import { openSpot, toStat } from './handle.js'
import { secretReason, secretsWithin, secretWay } from './hidden.js'
import type { CommitPoint, EntryKind, EntryStat, FileOpener, Handle, Workspace } from './types.js'
import { isOwnState, isReserved, JudgedPlaces, turned } from './places.js'
import { walk, type Spot } from './walk.js'

const largest = 64 * 1024 * 1024

/** The reading half of a workspace. */
export class WorkspaceReading {
  protected readonly directory
  protected readonly identity: { readonly dev: bigint; readonly ino: bigint }
  readonly seal: Seal
  readonly isSecret: Workspace['isSecret']
  constructor(
    readonly root: string,
    protected readonly roots: readonly [string, ...string[]],
    readonly home: string,
    readonly user: string,
  ) {
    this.isSecret = secretsWithin(root, home)
    this.directory = openRoot(root)
    this.identity = statOf(this.directory)
    // A folder that is moved stays itself; a copy of it, or a clone, is another.
    this.seal = sealOf(home, String(this.identity.ino))
  }

  /** Hides files from whoever is given this view. */
  protected isHidden?: (path: string) => boolean

  /** Returns a view without some files: they are neither opened nor named nor moved. */
  filtered(isHidden: (path: string) => boolean): this {
    const view = Object.create(this) as this
    view.isHidden = isHidden
    return view
  }

  /** What the call of this view named. */
  protected judged?: JudgedPlaces
  /** Where something but our own state is changed. */
  protected passCommit?: CommitPoint

  /** What this is a view of for one call: what another call left unfinished is completed through it, whatever this one named. */
  protected whole?: this

  /** Returns a view for one call, in which judged paths lead where they led when they were judged, or nowhere. */
  holding(places: readonly Place[] | undefined, passCommit: CommitPoint): this {
    const view = Object.create(this) as this
    view.whole = this
    if (places) view.judged = new JudgedPlaces(places)
    view.passCommit = passCommit
    return view
  }

  /** Returns a view in which these paths and the folders above them are no links: a later link leads nowhere. */
  asNamed(paths: readonly string[]): this {
    const ways = new Set(
      paths.flatMap((path) => segments(path).map((_, index, names) => names.slice(0, index + 1).join('/'))),
    )
    return this.holding(
      [...ways].map((path) => ({ given: path, resolved: path, entry: path })),
      () => {},
    )
  }

  /** Whether the root was just looked at. */
  private looked = false

  /** Throws VT_FILE_STALE once another folder has the name of the root: it is not followed. */
  refuseMoved(): void {
    if (this.looked) return
    const { ino, dev } = this.identity
    // Every call asks: a number is told sooner where it can hold the inode.
    const now = lstatSync(this.root, { bigint: ino > Number.MAX_SAFE_INTEGER, throwIfNoEntry: false })
    if (now && BigInt(now.ino) === ino && BigInt(now.dev) === dev) {
      // Those that ask at once are told by one look.
      this.looked = true
      return queueMicrotask(() => (this.looked = false))
    }
    throw problem(
      'VT_FILE_STALE',
      { path: this.root },
      {
        hint: 'The folder of the workspace was moved or replaced, and what has its name now is another one. Start the program anew.',
      },
    )
  }

  /**
   * The commit point of a change at `path`: our own state is put aside before it and cleared away behind it. Throws VT_CALL_ABORTED, and
   * VT_FILE_STALE for a path that nobody judged though the call named others.
   */
  protected committing(path: string): void {
    const named = this.judged?.names(path)
    if (!named && path.startsWith('.vtcode/')) return
    if (named === false) throw turned(path)
    this.passCommit?.('changing')
  }

  sees(path: string): boolean {
    return this.isHidden?.(path) !== true && this.isSecret?.(path) !== true
  }

  normalize(path: string): string {
    return normalizePath(path, this.roots)
  }

  resolve(path: string, { follow = true }: { follow?: boolean } = {}): string {
    const asked = this.normalize(path)
    const resolved = this.reached(asked, follow, (spot) => spot.resolved)
    const expected = this.judged?.expected(asked, follow)
    // What is not there is only walked as far as it goes.
    if (expected?.left === 0 && expected.at !== resolved) throw turned(asked)
    return resolved
  }

  /** Returns where a path leads and where its last name is; one walk finds both unless that is a link. */
  lead(path: string): { resolved: string; entry: string } {
    const asked = this.normalize(path)
    let isLink = false
    const entry = this.reached(asked, false, (spot) => {
      isLink = spot.entry?.stats.isSymbolicLink() === true
      return spot.resolved
    })
    return { resolved: isLink ? this.resolve(asked) : entry, entry }
  }

  async open(path: string): Promise<Handle> {
    const asked = this.normalize(path)
    try {
      const handle = openSpot(this.walk(asked, true), asked)
      if (handle.kind === 'directory' || (this.shows(handle.path) && this.shows(handle.resolved))) return handle
      await handle.close()
    } catch (error) {
      throw this.withSimilar(error, asked)
    }
    throw this.unseen(asked)
  }

  async openFile(path: string): Promise<Handle> {
    return only('file', await this.open(path))
  }

  files(): FileOpener {
    let folder: Handle | undefined
    const close = async () => await folder?.close()
    return {
      openFile: async (path) => {
        const asked = this.normalize(path)
        const cut = asked.lastIndexOf('/')
        const parent = cut < 0 ? '.' : asked.slice(0, cut)
        // What the call named itself has to be where it was judged to be.
        if (this.judged?.expected(asked, true)?.left === 0) return await this.openFile(asked)
        if (folder?.path !== parent) {
          await close()
          folder = undefined
          folder = await this.openDirectory(parent).catch(() => undefined)
        }
        const file = folder?.file(asked.slice(cut + 1))
        if (!file) return await this.openFile(asked)
        if (this.shows(file.path) && this.shows(file.resolved)) return file
        await file.close()
        throw this.unseen(asked)
      },
      [Symbol.asyncDispose]: close,
    }
  }

  async openDirectory(path: string): Promise<Handle> {
    return only('directory', await this.open(path))
  }

  async stat(path: string): Promise<EntryStat | undefined> {
    const asked = this.normalize(path)
    let spot: Spot
    try {
      spot = this.walk(asked, false)
    } catch (error) {
      if (error instanceof VtError && (error.code === 'VT_PATH_NOT_FOUND' || error.code === 'VT_PATH_NOT_DIRECTORY'))
        return undefined
      throw error
    }
    const stat = spot.entry && toStat(spot.entry.stats)
    spot.close()
    return stat
  }

  async read(path: string, range: { offset?: number; length?: number } = {}): Promise<Buffer> {
    await using file = await this.openFile(path)
    const { offset = 0, length = file.stat.bytes } = range
    if (Math.min(length, file.stat.bytes - offset) > largest) throw tooLarge(file, largest)
    return await file.read(offset, length)
  }

  async text(path: string, how: { max_bytes?: number } = {}): Promise<string> {
    await using file = await this.openFile(path)
    const { max_bytes: limit = largest } = how
    if (file.stat.bytes > limit) throw tooLarge(file, limit)
    const bytes = await file.read(0, limit)
    if (!isUtf8(bytes)) throw problem('VT_FILE_BINARY', { path: shownPath(file.path) })
    return bytes.toString().replace(/^\uFEFF/, '')
  }

  async names(path: string): Promise<{ name: string; kind: EntryKind }[]> {
    await using directory = await this.openDirectory(path)
    const names = directory.names()
    const shown = ({ name }: { name: string }) =>
      [directory.path, directory.resolved].every((folder) => this.shows(folder === '.' ? name : `${folder}/${name}`))
    return (this.isHidden ?? this.isSecret) ? names.filter(shown) : names
  }

  /** What the program keeps in the workspace it always finds; calls that name it are judged by the policies. */
  protected shows(path: string): boolean {
    return this.sees(path) || (path.startsWith('.vtcode/') && this.isSecret?.(path) !== true)
  }

  /** Under another name what is hidden would be open. */
  protected refuseHidden({ resolved, directory, name, entry }: Spot): void {
    if (!this.isHidden && !this.isSecret) return
    if (!this.shows(resolved)) throw this.unseen(resolved)
    if (!entry?.stats.isDirectory()) return
    for (const below of readdirSync(directory.at(name), { recursive: true, encoding: 'utf8' })) {
      if (!this.shows(`${resolved}/${below}`)) throw this.unseen(`${resolved}/${below}`)
    }
  }

  /** The refusal of a file that a rule hides, or that is the user's alone. */
  private unseen(path: string): VtError {
    const isSecret = this.isSecret && [path, this.resolve(path)].some(this.isSecret)
    const byRule = {
      reason: `A rule of policy.deny hides '${shownPath(path)}' from tools.`,
      way: 'The user can change the rule.',
    }
    return problem('VT_POLICY_DENIED', isSecret ? { reason: secretReason(path), way: secretWay } : byRule, {
      details: { not_applied: true },
    })
  }

  protected walk(path: string, follow: boolean): Spot {
    const spot = walk(this.directory, path, this.roots, follow, this.judged?.expected(path, follow))
    if (spot.resolved === path || !this.isAstray(path, spot.resolved)) return spot
    spot.close()
    throw isOwnState(path) ? problem('VT_PATH_OUTSIDE', { path: shownPath(path) }) : turned(path)
  }

  /** Whether links lead a path to where it may not lead: out of our own state, or for a call to what is git's or ours and was not judged. */
  private isAstray(path: string, resolved: string): boolean {
    // The folder of all of it may be a link of the user's.
    const folder = resolved.slice(0, Math.max(0, resolved.length - path.length + '.vtcode'.length))
    if (isOwnState(path)) return resolved !== folder + path.slice('.vtcode'.length) || isReserved(`${folder}/x`)
    return this.judged !== undefined && isReserved(resolved) && !isReserved(path) && !this.judged.knows(resolved)
  }

  /** What `use` says of the last spot on a path where something can be, followed by the names that are not there. */
  protected reached(path: string, follow: boolean, use: (spot: Spot) => string): string {
    try {
      const spot = this.walk(path, follow)
      try {
        return use(spot)
      } finally {
        spot.close()
      }
    } catch (error) {
      if (!path.includes('/') || !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
      const cut = path.lastIndexOf('/')
      return this.reached(path.slice(0, cut), true, use) + path.slice(cut)
    }
  }

  /** Names at most three entries that may have been meant where `error` says that nothing is there. */
  protected withSimilar(error: unknown, path: string): unknown {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') return error
    const similar = this.similar(path)
    if (similar.length === 0) return error
    const named = `; similar: ${similar.map(shownPath).join(', ')}`
    return problem('VT_PATH_NOT_FOUND', { path: shownPath(path), similar: named }, { details: { similar } })
  }

  private similar(path: string): string[] {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const parent = path.slice(0, -name.length - 1)
    try {
      const handle = openSpot(this.walk(parent || '.', true), parent)
      try {
        const known = new Set(readdirSync(handle.ref).slice(0, 2000))
        const found: string[] = []
        for (let one; found.length < 3 && (one = nearest(name, known)); known.delete(one))
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

async function only(kind: 'file' | 'directory', handle: Handle): Promise<Handle> {
  if (handle.kind === kind) return handle
  await handle.close()
  throw problem(kind === 'file' ? 'VT_PATH_IS_DIRECTORY' : 'VT_PATH_NOT_DIRECTORY', { path: shownPath(handle.path) })
}

const tooLarge = (file: Handle, limit: number) =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${shownPath(file.path)}' has ${file.stat.bytes} bytes; at most ${limit} are read at once.`,
    hint: 'Read it in pages.',
    retryable: false,
    details: { size_bytes: file.stat.bytes, limit_bytes: limit },
  })
