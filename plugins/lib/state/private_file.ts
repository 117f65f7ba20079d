import { constants, fstatSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

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
