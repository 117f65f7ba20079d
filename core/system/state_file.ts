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
  /** The mode of the file, 0600 by default. */
  mode?: number
  /** Whether the file has to be on disk when the call returns; a cache can do without. */
  durable?: boolean
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants
// O_EXCL: a link or a pipe in the place of the draft is never written through.
const fresh = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

let count = 0
/** The draft lies beside the file, so that the rename is one step. No two writers share a draft; a draft that a killed process of this id left is removed. */
const draftOf = (file: string, several: boolean): string => `${file}.${process.pid}${several ? `.${(count += 1)}` : ''}`

/** Makes a folder and those above it that are missing. Node's own way with `recursive` never ends below a folder that refuses new ones as missing, such as /proc. */
export function makeFolder(folder: string, mode?: number): void {
  const missing: string[] = []
  for (let at = resolve(folder); !madeOne(at, mode); at = dirname(at)) missing.push(at)
  for (const at of missing.reverse())
    if (!madeOne(at, mode))
      throw Object.assign(new Error(`ENOENT: no folder can be made at '${at}'`), { code: 'ENOENT', path: at })
}

/** Is the folder there now? No: one above it is missing. */
function madeOne(folder: string, mode?: number): boolean {
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder) return false
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
  return true
}

/** Replaces a state file in one step and makes its folder: after a crash the file is the old one or the new one, never a part of it. */
export function writeStateSync(
  file: string,
  data: string | Uint8Array,
  { mode = 0o600, durable = true }: StateOptions = {},
): void {
  const draft = draftOf(file, false)
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

/** The same without blocking the rest of the process. */
export async function writeState(
  file: string,
  data: string | Uint8Array,
  { mode = 0o600, durable = true }: StateOptions = {},
): Promise<void> {
  const draft = draftOf(file, true)
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

/** Keeps the newest of a folder, at most so many, and removes the others, folders with all that they hold. */
export function keepNewest(folder: string, most: number): void {
  const names = readdirSync(folder)
  if (names.length <= most) return
  const age = (name: string): number => statSync(join(folder, name)).mtimeMs
  for (const name of names.sort((a, b) => age(a) - age(b)).slice(0, names.length - most))
    rmSync(join(folder, name), { recursive: true, force: true })
}
