import { isUtf8 } from 'node:buffer'
import { readdirSync } from 'node:fs'
import { nearest, normalizePath, problem, shownPath, VtError } from '../base/index.js'
import { openRoot } from './directory.js'
import { openSpot, toStat } from './handle.js'
import type { EntryKind, EntryStat, Handle } from './types.js'
import { walk, type Spot } from './walk.js'

const largest = 64 * 1024 * 1024

/** The reading half of a workspace. */
export class WorkspaceReading {
  protected readonly directory
  constructor(
    readonly root: string,
    protected readonly roots: readonly [string, ...string[]],
  ) {
    this.directory = openRoot(root)
  }

  /** Hides files from whoever is given this view. */
  protected isHidden?: (path: string) => boolean

  /** The same workspace for readers who do not see some files: they are not opened, not named and not carried elsewhere. */
  filtered(isHidden: (path: string) => boolean): this {
    const view = Object.create(this) as this
    view.isHidden = isHidden
    return view
  }

  sees(path: string): boolean {
    return this.isHidden?.(path) !== true
  }

  normalize(path: string): string {
    return normalizePath(path, this.roots)
  }

  resolve(path: string, { follow = true }: { follow?: boolean } = {}): string {
    return this.reached(this.normalize(path), follow, ({ resolved }) => resolved)
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
    throw unseen(asked)
  }

  async openFile(path: string): Promise<Handle> {
    return only('file', await this.open(path))
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
      if (error instanceof VtError && (error.code === 'VT_PATH_NOT_FOUND' || error.code === 'VT_PATH_NOT_DIRECTORY')) return undefined
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
    return this.isHidden ? names.filter(shown) : names
  }

  /** What the program keeps for itself it always finds; calls that name it are judged by the policies. */
  protected shows(path: string): boolean {
    return this.sees(path) || path.startsWith('.vtcode/')
  }

  /** Under another name what is hidden would be open. */
  protected refuseHidden({ resolved, directory, name, entry }: Spot): void {
    if (!this.isHidden) return
    if (!this.shows(resolved)) throw unseen(resolved)
    if (!entry?.stats.isDirectory()) return
    for (const below of readdirSync(directory.at(name), { recursive: true, encoding: 'utf8' })) {
      if (!this.shows(`${resolved}/${below}`)) throw unseen(`${resolved}/${below}`)
    }
  }

  protected walk(path: string, follow: boolean): Spot {
    return walk(this.directory, path, this.roots, follow)
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
        for (let one; found.length < 3 && (one = nearest(name, known)); known.delete(one)) found.push(parent ? `${parent}/${one}` : one)
        return found
      } finally {
        void handle.close()
      }
    } catch {
      return []
    }
  }
}

/** The refusal of a file that a rule hides. */
const unseen = (path: string): VtError =>
  problem(
    'VT_POLICY_DENIED',
    { reason: `A rule of policy.deny hides '${shownPath(path)}' from tools.`, way: 'The user can change the rule.' },
    { details: { not_applied: true } },
  )

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
