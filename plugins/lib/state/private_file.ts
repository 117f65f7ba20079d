import { closeSync, constants, fstatSync, openSync, writeFileSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

const { O_RDONLY, O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * Opens a file of this machine below `.vtcode/`. The folder may come from a repository: a link, a pipe or another
 * kind of file throws at once.
 */
export async function openPrivateFile(path: string, flags = O_RDONLY): Promise<FileHandle> {
  const file = await open(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ELOOP' ? new Error('the file is a link') : error
  })
  if (fstatSync(file.fd).isFile()) return file
  await file.close()
  throw new Error('the file is not a regular file')
}

/**
 * Appends to such a file, and creates it if needed; returns its size. Synchronous, because a few lines take less time
 * than waiting. Throws as `openPrivateFile` does.
 */
export function appendPrivateFile(path: string, text: string): number {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    if (!fstatSync(fd).isFile()) throw new Error('the file is not a regular file')
    writeFileSync(fd, text)
    return fstatSync(fd).size
  } finally {
    closeSync(fd)
  }
}

/** Returns the text of such a file; `undefined` if it does not exist. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  try {
    const file = await openPrivateFile(path)
    return await file.readFile('utf8').finally(() => file.close())
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
