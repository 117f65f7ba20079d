export type EntryKind = 'file' | 'directory' | 'link' | 'other'
export interface EntryStat {
  kind: EntryKind
  bytes: number
  mtime_ms: number
  /** Nanoseconds; with `dev` and `ino` it is the identity of a version of the file. */
  mtime_ns: bigint
  dev: bigint
  ino: bigint
  mode: number
  nlink: number
}
/** An open regular file or directory that lies inside the workspace, whatever happens to its path meanwhile. */
export interface Handle extends AsyncDisposable {
  /** Workspace-relative, `/`-separated, as asked for; `.` is the root. */
  readonly path: string
  /** The same after following links inside the workspace. */
  readonly resolved: string
  readonly kind: 'file' | 'directory'
  readonly stat: EntryStat
  readonly fd: number
  /** A path that names this very object for as long as the handle is open; the `cwd` for a child program. */
  readonly ref: string
  /** Reads at most `length` bytes at `offset`, into `reused` if it is given; fewer only at the end of the file. */
  read(offset: number, length: number, reused?: Buffer): Promise<Buffer>
  /** What is in a directory, in code-unit order; names that are not UTF-8 carry `\xHH` escapes. `most` limits their number. */
  listNames(most?: number): { name: string; kind: EntryKind }[]
  /** A directory inside this one, by its name; a link is not followed. Throws VT_PATH_*. */
  openDirectory(name: string): Handle
  /** Opens a regular file of this directory; `undefined` for anything else, links included. Throws VT_PATH_*. */
  openFile(name: string): Handle | undefined
  close(): Promise<void>
}
/** What a write may replace: nothing, anything, or only the version that was seen. */
export type ExpectedState = 'nothing' | 'anything' | FileVersion
/** A file as it was when it was read. */
export interface FileVersion {
  stat: EntryStat
  /** SHA-256 of all its bytes, in hex. */
  sha256: string
  /** The bytes themselves, where they are still at hand: to put them back they need not be read again. */
  bytes?: Uint8Array
}
export interface WriteResult {
  /** Workspace-relative, after following links. */
  resolved: string
  stat: EntryStat
  created: boolean
  /** What of the old file could not be carried over: `hardlinks`, `owner`, `attributes` (extended ones and access lists). */
  lost: string[]
}
export interface Extent {
  /** What a directory holds, at any depth; 1 for anything else. */
  entries: number
  bytes: number
}
