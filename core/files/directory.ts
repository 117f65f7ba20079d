import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  type BigIntStats,
} from 'node:fs'
import { join } from 'node:path'
import { decodeName, errno } from '../system/index.js'

/** An open directory. On Linux, names are looked up in this directory even after its path has changed. */
export interface Directory {
  /**
   * Returns the path of an entry for a system call that does not follow links in its last segment. `.` is the
   * directory.
   */
  pathTo(name: string): string | Buffer
  /** Opens a directory inside this one. Throws ENOTDIR for anything else, including links. */
  openDirectory(name: string): Directory
  /** Returns the entry of that name without following a link, or `undefined`. */
  peek(name: string): DirectoryEntry | undefined
  /** Opens a regular file for reading. Returns `undefined` for any other entry and for a file that cannot be opened. */
  openFile(name: string): { fd: number; stats: BigIntStats } | undefined
  /** Path by which other programs reach this directory until it is closed. */
  readonly ref: string
  readonly fd: number
  readonly close: () => void
}
export interface DirectoryEntry {
  readonly stats: BigIntStats
  /** Opens the entry, which must be a regular file, for reading. The caller closes the descriptor. */
  open(): number
  /** Throws EACCES, EPERM or EROFS for an entry that may not be written into. */
  refuseReadonly(): void
  close(): void
}

/** Opens the root of a workspace. */
export function openRoot(root: string): Directory {
  return HAS_PROC ? new DescriptorDirectory(openSync(root, O_PATH | constants.O_DIRECTORY)) : new PathDirectory(root)
}

/** Returns the `stat` of an open directory. */
export const statDirectory = (directory: Directory): BigIntStats => lstatSync(directory.pathTo('.'), { bigint: true })

/** Returns a path that names an open file for other programs: through its descriptor on Linux, else `path`. */
export const formatReference = (fd: number, path: string | Buffer): string =>
  HAS_PROC ? `/proc/${process.pid}/fd/${fd}` : path.toString()

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
// Node has no constant for Linux's O_PATH: a descriptor that names an entry without opening it.
const O_PATH = 0o10000000
const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/fd')

/** A directory on Linux. A swapped parent has no effect on a descriptor. */
class DescriptorDirectory implements Directory {
  constructor(private descriptor: number) {}

  get fd(): number {
    return this.descriptor
  }

  get ref(): string {
    return formatReference(this.fd, '')
  }
  pathTo(name: string): string | Buffer {
    const entry = decodeName(name)
    const here = `/proc/self/fd/${this.fd}/`
    return typeof entry === 'string' ? here + entry : Buffer.concat([Buffer.from(here), entry])
  }
  openDirectory(name: string): Directory {
    return new DescriptorDirectory(openSync(this.pathTo(name), O_PATH | O_NOFOLLOW | constants.O_DIRECTORY))
  }
  peek(name: string): DirectoryEntry | undefined {
    let fd: number
    try {
      fd = openSync(this.pathTo(name), O_PATH | O_NOFOLLOW)
    } catch (error) {
      if (errno(error) === 'ENOENT') return undefined
      throw error
    }
    try {
      return new DescriptorEntry(fd, fstatSync(fd, { bigint: true }))
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }
  openFile(name: string): { fd: number; stats: BigIntStats } | undefined {
    return openRegular(() => openSync(this.pathTo(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  }
  // Later uses must fail: the system may give the number to another file.
  readonly close = (): void => {
    if (this.fd >= 0) closeSync(this.fd)
    this.descriptor = -1
  }
}

class DescriptorEntry implements DirectoryEntry {
  constructor(
    private readonly fd: number,
    readonly stats: BigIntStats,
  ) {}
  open(): number {
    return openSync(`/proc/self/fd/${this.fd}`, O_RDONLY | O_NONBLOCK)
  }
  refuseReadonly(): void {
    accessSync(`/proc/self/fd/${this.fd}`, constants.W_OK)
  }
  close(): void {
    closeSync(this.fd)
  }
}

/** A directory on other systems. The real path of a file is checked again after each open of a file. */
class PathDirectory implements Directory {
  readonly fd = -1
  constructor(readonly ref: string) {}

  pathTo(name: string): string {
    return name === '.' ? this.ref : join(this.ref, name)
  }
  openDirectory(name: string): Directory {
    const path = this.pathTo(name)
    if (!lstatSync(path).isDirectory()) throw Object.assign(new Error('not a directory'), { code: 'ENOTDIR' })
    return new PathDirectory(path)
  }
  peek(name: string): DirectoryEntry | undefined {
    const path = this.pathTo(name)
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    return (
      stats && {
        stats,
        open: () => openChecked(path, stats),
        refuseReadonly: () => accessSync(path, constants.W_OK),
        close: () => {},
      }
    )
  }
  openFile(name: string): { fd: number; stats: BigIntStats } | undefined {
    return openRegular(() => this.peek(name)?.open())
  }
  readonly close = (): void => {}
}

/** Returns an opened regular file and closes anything else. Opening a pipe or device without reading has no effect. */
function openRegular(open: () => number | undefined): { fd: number; stats: BigIntStats } | undefined {
  let fd: number | undefined
  try {
    fd = open()
    const stats = fd === undefined ? undefined : fstatSync(fd, { bigint: true })
    if (stats?.isFile()) return { fd: fd!, stats }
  } catch {
    // The walk to the file reports why it cannot be opened.
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}

function openChecked(path: string, expected: BigIntStats): number {
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const found = fstatSync(fd, { bigint: true })
    if (found.ino === expected.ino && found.dev === expected.dev && realpathSync(path) === path) return fd
    throw Object.assign(new Error('the path changed while it was opened'), { code: 'EAGAIN' })
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Writes the names of a directory to disk. */
export function syncDirectory(directory: Directory): void {
  const fd = openSync(directory.pathTo('.'), constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
