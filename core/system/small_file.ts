import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Reads a small regular file; `undefined` if missing, not regular, or longer than `most` bytes. */
export function readSmallFile(path: string, most = 4096): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > most) return undefined
    const bytes = Buffer.alloc(most)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, most, 0))
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
