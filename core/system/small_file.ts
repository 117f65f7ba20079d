import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Reads a small regular file; `undefined` if missing, not regular, or longer than `most` bytes. */
export function readSmallFile(path: string, most = 4096): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > most) return undefined
    // Files of /proc have no size.
    const bytes = Buffer.alloc(Math.min(most, Math.max(stat.size, 65_536)))
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
