import type { EntryKind, EntryStat, Extent, Handle, ExpectedState, FileVersion, WriteResult } from '../files/index.js'
import type { CallPath } from '../shapes/index.js'
import type { Seal } from '../system/index.js'

/**
 * Opens files one after another. Files of one folder share one walk to it; the folder stays open until the next one
 * or disposal.
 */
export interface FileOpener extends AsyncDisposable {
  openFile(path: string): Promise<Handle>
}
/**
 * The files below one folder. All methods confine their paths and follow no link out of the folder. They throw
 * VT_PATH_OUTSIDE,
 * VT_PATH_NOT_FOUND, VT_PATH_SPECIAL, VT_PATH_PERMISSION and VT_INPUT_INVALID.
 */
export interface Workspace {
  /** The real path of the root. */
  readonly root: string
  /** The `.vtcode` folder of the user, which may lie in the workspace. */
  readonly home: string
  /** The folder that `~` means. */
  readonly user: string
  /**
   * Returns whether a path is secret because it lies in `home`. Absent where `home` and the workspace are apart.
   * Reads no disk.
   */
  readonly isSecret: ((path: string) => boolean) | undefined
  /** Marks the files of this program below `.vtcode/`, because a repository may contain similar ones. */
  readonly seal: Seal
  /** Returns the workspace-relative form of a path, or throws VT_PATH_OUTSIDE. Reads no disk. */
  normalize(path: string): string
  /**
   * Returns where a path leads. Follows a link in the last name too, unless `follow` is false. The path may be
   * missing.
   */
  resolve(path: string, how?: { follow?: boolean }): string
  /** Returns whether tools may see a path: no rule hides it and it is not secret. Reads no disk. */
  isVisible(path: string): boolean
  /** Opens a regular file (VT_PATH_IS_DIRECTORY for a directory). */
  openFile(path: string): Promise<Handle>
  /** Returns an opener of many files, which is fastest in the order of their folders. */
  createFileOpener(): FileOpener
  /** Opens a directory (VT_PATH_NOT_DIRECTORY for a file). */
  openDirectory(path: string): Promise<Handle>
  /** Opens a regular file or a directory. */
  open(path: string): Promise<Handle>
  /** Returns the `stat` of an entry without following a link in the last segment, or `undefined`. */
  stat(path: string): Promise<EntryStat | undefined>
  /** Reads a file or a range of it, at most 64 MiB. */
  read(path: string, range?: { offset?: number; length?: number }): Promise<Buffer>
  /** Reads a file as UTF-8 without its BOM, at most `max_bytes` (64 MiB). Throws VT_FILE_BINARY for invalid UTF-8. */
  readText(path: string, how?: { max_bytes?: number }): Promise<string>
  /** Lists a directory in code-unit order. Names that are not UTF-8 carry `\xHH` escapes, which all methods accept. */
  listNames(path: string): Promise<{ name: string; kind: EntryKind }[]>

  /**
   * Locks these paths against other holders of this and other processes, until disposed of. Completes unfinished
   * transactions first.
   * Throws VT_FILE_IO (retryable) when another process keeps its lock too long, VT_PATCH_RECOVERY.
   */
  lock(paths: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable>
  /**
   * Writes a whole file atomically: at any time the old or the new file is there, and the new one is on disk on
   * return. Writes through a link inside the workspace. Makes missing parents. Throws VT_PATH_EXISTS, VT_FILE_STALE,
   * VT_FILE_IO.
   */
  write(path: string, bytes: Uint8Array, expected: ExpectedState, how?: { mode?: number }): Promise<WriteResult>
  /**
   * Applies all operations or none. The next process completes what an ended one has committed. Throws
   * VT_PATCH_RECOVERY too.
   */
  transact(operations: readonly Operation[]): Promise<WriteResult[]>
  /**
   * Removes a file, a link or an empty directory; with `recursive` its contents too, links as links. Throws
   * VT_PATH_NOT_EMPTY.
   */
  remove(path: string, how?: { recursive?: boolean }): Promise<void>
  /**
   * Renames an entry, a link as a link. Makes missing parents of `to`. Throws VT_PATH_EXISTS for a used name, unless
   * `replace` is set
   * and the name is a file's; VT_PATH_OUTSIDE for a link that would lead out from `to`, unless `allowOutsideLink` is
   * set.
   */
  rename(from: string, to: string, how?: { replace?: boolean; allowOutsideLink?: boolean }): Promise<void>
  /**
   * Copies an entry with modes and contents, all or nothing. Throws VT_PATH_EXISTS as `rename` does,
   * VT_INPUT_TOO_LARGE.
   */
  copy(from: string, to: string, how?: { replace?: boolean }): Promise<Extent>
  /** Gives a file that will be replaced a second name, or copies it where a hard link is impossible. */
  linkOrCopy(path: string, as: string): Promise<void>
  /**
   * Moves unsealed files out of the state of this program below `.vtcode/`. `doctor` and the command line list them
   * once.
   */
  quarantine(path: string): Promise<void>
  /** Measures an entry without following links. Throws VT_PATH_PERMISSION for a mounted file system inside it. */
  measure(path: string): Promise<Extent>
}
/** One operation of a transaction. */
export type Operation =
  | { op: 'write'; path: string; bytes: Uint8Array; expected: 'nothing' | FileVersion; mode?: number }
  | { op: 'remove'; path: string; expected: FileVersion }
/** Runs while a call prepares a change and right before the change. Throws VT_CALL_ABORTED for a cancelled call. */
export type CommitPoint = (how: 'preparing' | 'changing') => void
/** A change that the code of a plugin is about to make. */
export interface PlannedChange extends CallPath {
  /** A folder with its content. */
  readonly whole: boolean
}
/** The limits of a view for the code of a plugin. */
export interface PluginLimits {
  /** Returns whether the call of the view named a place. */
  isNamed(path: string): boolean
  /** Contract: rejects for a change that is not permitted. */
  checkChange(change: PlannedChange): Promise<void>
}
/** The options of a workspace. Without `user`, `~` is the HOME of `env`. */
export interface WorkspaceOptions {
  home: string
  user?: string
  env?: Readonly<Record<string, string | undefined>>
  quarantined?: Map<string, string>
  /** False for a folder that is not a workspace, such as a git folder: nothing is written but what callers write. */
  records?: boolean
}
