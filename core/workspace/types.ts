import type { EntryKind, EntryStat, Extent, Handle, ExpectedState, FileVersion, WriteResult } from '../files/index.js'
import type { Seal } from '../system/index.js'

/** Opens files in turn as `openFile` does; those of one folder take one walk to it, which stays open until it is disposed of. */
export interface FileOpener extends AsyncDisposable {
  openFile(path: string): Promise<Handle>
}
/** Every method confines; none follows a link out. Throws VT_PATH_OUTSIDE, VT_PATH_NOT_FOUND, VT_PATH_SPECIAL, VT_PATH_PERMISSION, VT_INPUT_INVALID. */
export interface Workspace {
  /** Real path of the root. */
  readonly root: string
  /** The `.vtcode` folder of the user, which may lie in here. */
  readonly home: string
  /** What `~` stands for. */
  readonly user: string
  /** Text only: whether a path is the user's alone, for it lies in that folder. Absent where the folder lies elsewhere. */
  readonly isSecret: ((path: string) => boolean) | undefined
  /** Marks what this program keeps below `.vtcode/`: a repository may bring such files, too. */
  readonly seal: Seal
  /** Text only: the workspace-relative form of a path, or VT_PATH_OUTSIDE. Touches no disk. */
  normalize(path: string): string
  /** Where a path leads, through links in the last name too unless `follow` is false; nothing need be there yet. */
  resolve(path: string, how?: { follow?: boolean }): string
  /** Text only: whether no rule hides this path from tools. What an engine names is told only if it is seen. */
  isVisible(path: string): boolean
  /** Opens a regular file (VT_PATH_IS_DIRECTORY for a directory). */
  openFile(path: string): Promise<Handle>
  /** Opens many of them, best in the order of their folders. */
  createFileOpener(): FileOpener
  /** Opens a directory (VT_PATH_NOT_DIRECTORY for a file). */
  openDirectory(path: string): Promise<Handle>
  /** Opens whichever of the two it is. */
  open(path: string): Promise<Handle>
  /** Without following a link in the last segment. `undefined` when nothing is there. */
  stat(path: string): Promise<EntryStat | undefined>
  /** Whole file, at most 64 MiB or `max_bytes`. */
  read(path: string, range?: { offset?: number; length?: number }): Promise<Buffer>
  /** Whole file as UTF-8, without a BOM; refuses invalid UTF-8 with VT_FILE_BINARY. */
  readText(path: string, how?: { max_bytes?: number }): Promise<string>
  /** Names in a directory, in code-unit order; names that are not UTF-8 carry `\xHH` escapes that every method of the workspace accepts back. */
  listNames(path: string): Promise<{ name: string; kind: EntryKind }[]>

  /**
   * Holds these paths against every other holder, in this and in other processes, until disposed of. What is read, decided and
   * written under it is one step; what a process that is gone left half-way is completed before. Throws VT_FILE_IO (retryable)
   * when another process does not let go, VT_PATCH_RECOVERY.
   */
  lock(paths: readonly string[], signal?: AbortSignal): Promise<AsyncDisposable>
  /**
   * Writes a whole file so that at every instant the old or the new one is there, whatever fails, and the new one is on disk on
   * return. A link is followed inside the workspace and stays. Missing parents are made. Throws VT_PATH_EXISTS, VT_FILE_STALE, VT_FILE_IO.
   */
  write(path: string, bytes: Uint8Array, expected: ExpectedState, how?: { mode?: number }): Promise<WriteResult>
  /** Carries out all operations or none, whatever happens: a process that ends half-way is completed by the next. Throws VT_PATCH_RECOVERY too. */
  transact(operations: readonly Operation[]): Promise<WriteResult[]>
  /** Removes a file, a link or an empty directory; with `recursive` what is in it too, links as links. Throws VT_PATH_NOT_EMPTY. */
  remove(path: string, how?: { recursive?: boolean }): Promise<void>
  /**
   * Gives an entry another name, a link as a link. Missing parents of `to` are made. Throws VT_PATH_EXISTS unless it may replace a
   * file, VT_PATH_OUTSIDE for a link that would lead out from there, unless it is only put `aside`.
   */
  rename(from: string, to: string, how?: { replace?: boolean; allowOutsideLink?: boolean }): Promise<void>
  /** Copies an entry with its modes and everything in it, all or nothing. Throws VT_PATH_EXISTS unless it may replace a file, VT_INPUT_TOO_LARGE. */
  copy(from: string, to: string, how?: { replace?: boolean }): Promise<Extent>
  /** A second name for the very bytes of a file that is about to be replaced, or a copy of them where there can be none. */
  linkOrCopy(path: string, as: string): Promise<void>
  /** Moves what lies among our own state below `.vtcode/` and bears no seal of ours out of the way; `doctor` and the command line name it once. */
  quarantine(path: string): Promise<void>
  /** How much an entry is; links are not followed. Throws VT_PATH_PERMISSION where another file system is mounted inside. */
  measure(path: string): Promise<Extent>
}
/** One step of a change of several files. */
export type Operation =
  | { op: 'write'; path: string; bytes: Uint8Array; expected: 'nothing' | FileVersion; mode?: number }
  | { op: 'remove'; path: string; expected: FileVersion }
/** Is told before a call changes something, and while it prepares to. Throws VT_CALL_ABORTED for a call that is to change nothing any more. */
export type CommitPoint = (how: 'preparing' | 'changing') => void
/** What is said of a workspace beside its folder. Without `user`, `~` is the HOME of the environment. */
export interface WorkspaceOptions {
  home: string
  user?: string
  env?: Readonly<Record<string, string | undefined>>
  quarantined?: Map<string, string>
}
