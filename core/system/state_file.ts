import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

export interface StateOptions {
  /** Mode of the file, default 0600. */
  mode?: number
  /** The file is on disk when the call returns; a cache can go without. Default: true. */
  durable?: boolean
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
// O_EXCL: a link or a pipe at the path of the draft is never written through.
const fresh = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

let count = 0
/**
 * Returns the path of the draft, next to the file, so that the rename is one step. No two writers share a draft; a
 * draft of a killed process with this id is removed.
 */
const createDraftPath = (file: string, several: boolean): string =>
  `${file}.${process.pid}${several ? `.${(count += 1)}` : ''}`

/**
 * Creates a folder and its missing parents, each tried once: some file systems refuse every new folder with the error
 * of a missing parent.
 */
export function makeFolder(folder: string, mode?: number): void {
  const missing: string[] = []
  for (let at = resolve(folder); !ensureFolder(at, mode); at = dirname(at)) missing.push(at)
  for (const at of missing.reverse())
    if (!ensureFolder(at, mode))
      throw Object.assign(new Error(`ENOENT: no folder can be made at '${at}'`), { code: 'ENOENT', path: at })
}

/** Creates one folder. Returns whether it exists now: false if its parent is missing. */
function ensureFolder(folder: string, mode?: number): boolean {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder) return false
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
  return true
}

/**
 * Replaces a state file in one step and creates its folder: after a crash, the file has the old or the new content,
 * never a part.
 */
export function writeStateSync(
  file: string,
  data: string | Uint8Array,
  { mode = 0o600, durable = true }: StateOptions = {},
): void {
  const draft = createDraftPath(file, false)
  rmSync(draft, { force: true })
  const fd = openWith(draft)
  try {
    try {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
      if (durable) fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  if (!durable) return
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }

  function openWith(path: string): number {
    try {
      return openSync(path, fresh, mode)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      makeFolder(dirname(path), 0o700)
      return openSync(path, fresh, mode)
    }
  }
}

/** Replaces a state file without blocking the process. */
export async function writeState(
  file: string,
  data: string | Uint8Array,
  { mode = 0o600, durable = true }: StateOptions = {},
): Promise<void> {
  const draft = createDraftPath(file, true)
  await rm(draft, { force: true })
  const handle = await open(draft, fresh, mode).catch(async (error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    makeFolder(dirname(draft), 0o700)
    return open(draft, fresh, mode)
  })
  try {
    try {
      await handle.writeFile(data)
      if (durable) await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  if (!durable) return
  const folder = await open(dirname(file), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Keeps at most `most` entries of a folder, the newest, and removes all others, including the content of folders. */
export function keepNewest(folder: string, most: number): void {
  const names = readdirSync(folder)
  if (names.length <= most) return
  const age = (name: string): number => statSync(join(folder, name)).mtimeMs
  for (const name of names.sort((a, b) => age(a) - age(b)).slice(0, names.length - most))
    rmSync(join(folder, name), { recursive: true, force: true })
}
