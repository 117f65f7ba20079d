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

/** A directory that is being stood in: whatever happens to its path meanwhile, names are looked up in this very one. */
export interface Directory {
  /** The path of an entry for a system call that does not follow links in its last segment. `.` is the directory itself. */
  pathTo(name: string): string | Buffer
  /** Stands in a directory inside this one. Throws ENOTDIR for anything else, links too. */
  openDirectory(name: string): Directory
  /** The entry itself, a link not followed; `undefined` when nothing has that name. */
  peek(name: string): DirectoryEntry | undefined
  /** A regular file, opened for reading at once; `undefined` for all else that has the name, and where it cannot be opened. */
  openFile(name: string): { fd: number; stats: BigIntStats } | undefined
  /** Names this very directory for other programs, as long as it is not closed. */
  readonly ref: string
  readonly fd: number
  readonly close: () => void
}
export interface DirectoryEntry {
  readonly stats: BigIntStats
  /** Opens the entry, which must be a regular file, for reading. The descriptor is the caller's to close. */
  open(): number
  /** Throws EACCES, EPERM or EROFS where writing into the entry would be refused. */
  refuseReadonly(): void
  close(): void
}

/** Stands in the root of a workspace. */
export function openRoot(root: string): Directory {
  return HAS_PROC ? new DescriptorDirectory(openSync(root, O_PATH | constants.O_DIRECTORY)) : new PathDirectory(root)
}

/** What the system says of a directory that is being stood in. */
export const statDirectory = (directory: Directory): BigIntStats => lstatSync(directory.pathTo('.'), { bigint: true })

/** A path that names an open file for other programs: through its descriptor where the system can, else as it was found. */
export const formatReference = (fd: number, path: string | Buffer): string =>
  HAS_PROC ? `/proc/${process.pid}/fd/${fd}` : path.toString()

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
// Linux's O_PATH, which Node does not name: a descriptor that stands for a place without opening what is there.
const O_PATH = 0o10000000
const HAS_PROC = process.platform === 'linux' && existsSync('/proc/self/fd')

/** On Linux: held by a descriptor, so that no directory on the way can be swapped for a link between check and use. */
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
  // Afterwards every use fails: the number may be that of another file by then.
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

/** Elsewhere: held by its real path, which is looked at again after each open. */
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

/** What was opened, if it is a regular file: a pipe or a device was opened for nothing, which changes neither. */
function openRegular(open: () => number | undefined): { fd: number; stats: BigIntStats } | undefined {
  let fd: number | undefined
  try {
    fd = open()
    const stats = fd === undefined ? undefined : fstatSync(fd, { bigint: true })
    if (stats?.isFile()) return { fd: fd!, stats }
  } catch {
    // Why it cannot be opened says who walks to it.
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

/** Puts the names of a directory on disk. */
export function syncDirectory(directory: Directory): void {
  const fd = openSync(directory.pathTo('.'), constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
