import { closeSync, constants, fstatSync, openSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

const { O_RDONLY, O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * Opens a file of this machine's own below `.vtcode/`. The folder may have come with a repository: a link, a pipe or whatever else is no
 * file throws at once, and is not waited for.
 */
export async function openOwn(path: string, flags = O_RDONLY): Promise<FileHandle> {
  const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? new Error('it is a link') : error
  })
  if (fstatSync(file.fd).isFile()) return file
  await file.close()
  throw new Error('it is no regular file')
}

/** Appends to such a file, which is made where none is; returns its size. A few lines are written sooner than waited for. Throws as `openOwn` does. */
export function appendOwn(path: string, text: string): number {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    if (!fstatSync(fd).isFile()) throw new Error('it is no regular file')
    writeFileSync(fd, text)
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}

/** The text of such a file; `undefined` where nothing is. */
export async function readOwn(path: string): Promise<string | undefined> {
  try {
    const file = await openOwn(path)
    return await file.readFile('utf8').finally(() => file.close())
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
