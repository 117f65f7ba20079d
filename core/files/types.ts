export type EntryKind = 'file' | 'directory' | 'link' | 'other'
export interface EntryStat {
  kind: EntryKind
  bytes: number
  mtime_ms: number
  /** Nanoseconds; with `dev` and `ino` the identity of a version of the file. */
  mtime_ns: bigint
  dev: bigint
  ino: bigint
  mode: number
  nlink: number
}
/** An open regular file or directory of the workspace. It stays the same object when its path changes. */
export interface Handle extends AsyncDisposable {
  /** The workspace-relative, `/`-separated path that was opened; `.` is the root. */
  readonly path: string
  /** The path after following links inside the workspace. */
  readonly resolved: string
  readonly kind: 'file' | 'directory'
  readonly stat: EntryStat
  readonly fd: number
  /** A path that names this object while the handle is open; usable as `cwd` of a child program. */
  readonly ref: string
  /** Reads `length` bytes at `offset`, into `reused` if given. Returns fewer only at the end of the file. */
  read(offset: number, length: number, reused?: Buffer): Promise<Buffer>
  /**
   * Lists a directory in code-unit order. Names that are not UTF-8 carry `\xHH` escapes. `most` limits their number.
   */
  listNames(most?: number): { name: string; kind: EntryKind }[]
  /** Opens a directory inside this one by its name; does not follow a link. Throws VT_PATH_*. */
  openDirectory(name: string): Handle
  /**
   * Opens a regular file of this directory; returns `undefined` for anything else, links included. Throws VT_PATH_*.
   */
  openFile(name: string): Handle | undefined
  close(): Promise<void>
}
/** The state that a write expects at its path: no entry, any entry, or one version of a file. */
export type ExpectedState = 'nothing' | 'anything' | FileVersion
/** The identity and content of a file at the time of a read. */
export interface FileVersion {
  stat: EntryStat
  /** SHA-256 of all its bytes, in hex. */
  sha256: string
  /** The bytes, where they are still in memory: a rollback then needs no second read. */
  bytes?: Uint8Array
}
export interface WriteResult {
  /** The workspace-relative path after following links. */
  resolved: string
  stat: EntryStat
  created: boolean
  /**
   * The properties of the old file that were lost: `hardlinks`, `owner`, `attributes` (extended ones and access
   * lists).
   */
  lost: string[]
}
export interface Extent {
  /** The number of entries in a directory, at any depth; 1 for anything else. */
  entries: number
  bytes: number
}
