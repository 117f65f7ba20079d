import { readlinkSync, realpathSync, type Stats } from 'node:fs'
import { resolve } from 'node:path'
import {
  dropTemps,
  scanTree,
  statDirectory,
  type Extent,
  type Handle,
  type ExpectedState,
  type WriteResult,
} from '../files/index.js'
import { problem, type CallPath } from '../shapes/index.js'
import {
  addForeignRoot,
  encodeName,
  splitPath,
  escapePath,
  toPathError,
  resolveUserFolder,
  type Seal,
} from '../system/index.js'
import { FileChanger } from './change_files.js'
import { ConfinedPaths, type ViewLimits } from './confined_paths.js'
import { openJournal, recover, transact } from './journal.js'
import { JudgedPlaces } from './judged_places.js'
import { lock } from './lock.js'
import { clearOwnFolders, quarantine } from './quarantine.js'
import { FileReader } from './read_files.js'
import type { PlacedEntry } from './place_entry.js'
import { WorkspaceRoot } from './root.js'
import { TempRecords } from './temp_records.js'
import type { CommitPoint, FileOpener, WorkspaceOptions, Operation, PluginLimits, Workspace } from './types.js'

/** A workspace that its owner closes; `close` releases the root. */
export interface OpenWorkspace extends Workspace {
  /** Returns where a path leads and where its last name is. */
  locate(path: string): { resolved: string; entry: string }
  /** Returns a view without some files: they are not opened, named or moved. */
  createFilteredView(isHidden: (path: string) => boolean): OpenWorkspace
  /** Returns a view for the code of a plugin: `limits` judge each change, and records of the program stay closed. */
  createPluginView(limits: PluginLimits): OpenWorkspace
  /**
   * Returns a view for one call. Its judged `places` must lead where they led when they were judged, else
   * VT_FILE_STALE.
   */
  createCallView(places: readonly CallPath[] | undefined, passCommit: CommitPoint): OpenWorkspace
  /** Returns a view in which these paths and the folders above them are no links. Throws VT_FILE_STALE for a link. */
  createLinkFreeView(paths: readonly string[]): OpenWorkspace
  /** Quarantined files: the old path of each and the new one. */
  readonly quarantined: Map<string, string>
  /** Throws VT_FILE_STALE when another folder has taken the name of the root. */
  refuseMoved(): void
  /** Completes the transactions that a process left unfinished. Throws VT_PATCH_RECOVERY. */
  recover(): Promise<void>
  /**
   * Calls `visit` with the `lstat` of each entry, parents first; `visit` returns whether a directory is entered.
   * Returns the folders that cannot be read.
   */
  scan(visit: (path: string, stats: Stats) => boolean): Promise<{ unreadable: string[] }>
  /** Returns the target of a link. */
  readLink(path: string): string
  /**
   * Gives the entry at a path a state, whatever is there, and makes missing parents. The target of a link is not
   * judged. Throws VT_PATH_NOT_EMPTY for a directory with entries that is no longer wanted.
   */
  place(path: string, state: PlacedEntry): Promise<void>
  close(): void
}

/**
 * Opens the folder `root`: all files below it are reached through the result. `home` is the `.vtcode` folder of the
 * user. Its key seals the state of the program, and its own files stay secret where it lies in `root`. Quarantined
 * files are added to `foreign`, which several openers of one folder can share. Throws VT_PATH_NOT_FOUND,
 * VT_PATH_NOT_DIRECTORY, VT_PATH_PERMISSION.
 */
export function openWorkspace(
  root: string,
  { home, user, env, quarantined: foreign = new Map(), records }: WorkspaceOptions,
): OpenWorkspace {
  // Paths, open files and processes of Windows differ. WSL reports Linux.
  if (process.platform === 'win32') throw problem('VT_PLATFORM', { system: 'Windows' })
  try {
    const real = realpathSync(root)
    addForeignRoot(real)
    const opened = new WorkspaceRoot(real, [real, resolve(root)], home, user ?? resolveUserFolder({ env }))
    const temps = new TempRecords(records)
    temps.sweep(new ConfinedPaths(opened, {}))
    return new WorkspaceView(opened, temps, foreign, {})
  } catch (error) {
    throw toPathError(error, root)
  }
}

/** One view of a workspace. Views share the root and the temporary files, and differ in their limits. */
class WorkspaceView implements OpenWorkspace {
  readonly root: string
  readonly home: string
  readonly user: string
  readonly seal: Seal
  readonly isSecret: Workspace['isSecret']
  readonly #top: WorkspaceRoot
  readonly #temps: TempRecords
  /**
   * The view that a call view was made from. It completes what another call left unfinished, whatever this call
   * named.
   */
  readonly #whole: WorkspaceView
  readonly #paths: ConfinedPaths
  readonly #reader: FileReader
  readonly #changer: FileChanger

  constructor(
    root: WorkspaceRoot,
    temps: TempRecords,
    readonly quarantined: Map<string, string>,
    limits: ViewLimits,
    whole?: WorkspaceView,
  ) {
    this.root = root.path
    this.home = root.home
    this.user = root.user
    this.seal = root.seal
    this.isSecret = root.isSecret
    this.#top = root
    this.#temps = temps
    this.#whole = whole ?? this
    this.#paths = new ConfinedPaths(root, limits)
    this.#reader = new FileReader(this.#paths)
    this.#changer = new FileChanger(this.#paths, temps)
  }

  createFilteredView(isHidden: (path: string) => boolean): OpenWorkspace {
    const { isHidden: before } = this.#paths.limits
    const both = before ? (path: string) => before(path) || isHidden(path) : isHidden
    return this.#createView({ isHidden: both }, this.#whole === this ? undefined : this.#whole)
  }

  createPluginView(plugin: PluginLimits): WorkspaceView {
    return this.#createView({ plugin }, this.#whole)
  }

  createCallView(places: readonly CallPath[] | undefined, passCommit: CommitPoint): WorkspaceView {
    return this.#createView({ passCommit, ...(places && { judged: new JudgedPlaces(places) }) }, this)
  }

  createLinkFreeView(paths: readonly string[]): WorkspaceView {
    const folders = new Set(
      paths.flatMap((path) => splitPath(path).map((_, index, names) => names.slice(0, index + 1).join('/'))),
    )
    return this.createCallView(
      [...folders].map((path) => ({ given: path, resolved: path, entry: path })),
      () => {},
    )
  }

  #createView(limits: ViewLimits, whole?: WorkspaceView): WorkspaceView {
    return new WorkspaceView(this.#top, this.#temps, this.quarantined, { ...this.#paths.limits, ...limits }, whole)
  }

  refuseMoved(): void {
    this.#top.refuseMoved()
  }

  normalize(path: string): string {
    return this.#paths.normalize(path)
  }
  resolve(path: string, how?: { follow?: boolean }): string {
    return this.#paths.resolve(path, how)
  }
  locate(path: string): { resolved: string; entry: string } {
    return this.#paths.locate(path)
  }
  isVisible(path: string): boolean {
    return this.#paths.isVisible(path)
  }

  open(path: string): Promise<Handle> {
    return this.#reader.open(path)
  }
  openFile(path: string): Promise<Handle> {
    return this.#reader.openFile(path)
  }
  openDirectory(path: string): Promise<Handle> {
    return this.#reader.openDirectory(path)
  }
  createFileOpener(): FileOpener {
    return this.#reader.createFileOpener()
  }
  stat(path: string): ReturnType<Workspace['stat']> {
    return this.#reader.stat(path)
  }
  read(path: string, range?: { offset?: number; length?: number }): Promise<Buffer> {
    return this.#reader.read(path, range)
  }
  readText(path: string, how?: { max_bytes?: number }): Promise<string> {
    return this.#reader.readText(path, how)
  }
  listNames(path: string): ReturnType<Workspace['listNames']> {
    return this.#reader.listNames(path)
  }

  write(path: string, bytes: Uint8Array, expected: ExpectedState, how?: { mode?: number }): Promise<WriteResult> {
    return this.#changer.write(path, bytes, expected, how)
  }
  remove(path: string, how?: { recursive?: boolean }): Promise<void> {
    return this.#changer.remove(path, how)
  }
  rename(from: string, to: string, how?: { replace?: boolean; allowOutsideLink?: boolean }): Promise<void> {
    return this.#changer.rename(from, to, how)
  }
  copy(from: string, to: string, how?: { replace?: boolean }): Promise<Extent> {
    return this.#changer.copy(from, to, how)
  }
  linkOrCopy(path: string, as: string): Promise<void> {
    return this.#changer.linkOrCopy(path, as)
  }
  measure(path: string): Promise<Extent> {
    return this.#changer.measure(path)
  }

  scan(visit: (path: string, stats: Stats) => boolean): ReturnType<OpenWorkspace['scan']> {
    return scanTree(this.#top.directory, visit)
  }
  readLink(path: string): string {
    const { directory, name, close } = this.#paths.walk(this.normalize(path), false)
    try {
      return encodeName(readlinkSync(directory.pathTo(name), { encoding: 'buffer' }))
    } finally {
      close()
    }
  }
  place(path: string, state: PlacedEntry): Promise<void> {
    return this.#changer.place(path, state)
  }

  quarantine(path: string): Promise<void> {
    return quarantine(this, path)
  }

  async lock(paths: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable> {
    await this.recover()
    const asked = paths.map((path) => this.normalize(path))
    return lock(
      asked.map((path) => this.#lockKey(path)),
      escapePath(asked.join(', ')),
      signal,
    )
  }

  lockJournal(): Promise<AsyncDisposable> {
    return lock([this.#top.journalKey], '.vtcode/journal')
  }

  transact(operations: readonly Operation[]): Promise<WriteResult[]> {
    const { plugin, passCommit } = this.#paths.limits
    // The journal is the program's own, also for a change of a plugin.
    const files = plugin ? this.#createView({ plugin: openJournal(plugin) }, this.#whole) : this
    return transact(files, this.#whole, operations, (how) => passCommit?.(how))
  }

  async recover(): Promise<void> {
    await clearOwnFolders(this.#whole)
    await recover(this.#whole)
  }

  close(): void {
    dropTemps(this.#top.directory)
    this.#temps.close(this.#paths)
    this.#top.directory.close()
  }

  /** Returns one text for one place, however the path is spelt and through whichever root it is reached. */
  #lockKey(path: string): string {
    return this.#paths.applyToExisting(path, true, (location) => {
      const { dev, ino } = statDirectory(location.directory)
      return `${dev}:${ino}/${location.name}`
    })
  }
}
