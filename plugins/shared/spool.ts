import { constants } from 'node:fs'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import type { Context, Handle, Workspace } from '../../core/index.js'
import { ownFolder } from './own_folder.js'

export const spoolFolder = '.vtcode/spool'
const maxFiles = 200
const maxBytes = 512 * 1024 * 1024
const maxAge = 24 * 60 * 60 * 1000

// Files of sessions that still run; their readers would miss them.
const live = new Set<string>()

/** A file below `.vtcode/spool/` that is being written. */
export interface Spool {
  /** Workspace-relative. */
  readonly path: string
  write(chunk: Buffer | string): Promise<void>
  /** Several chunks at once, without copying them together. */
  writeAll(chunks: Buffer[]): Promise<void>
  /** Puts other bytes in the place of some that were written. */
  replace(position: number, bytes: Buffer): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a file for what is too long to show. Only this user can read it, git ignores it, and it stays at least as long as
 * the session.
 */
export async function openSpool(context: Context, label: string, end = 'txt'): Promise<Spool> {
  await using directory = await ownFolder(context.workspace, spoolFolder)
  const name = `${label.replace(/\W+/g, '_')}-${randomBytes(6).toString('hex')}.${end}`
  const file = await create(directory, name)
  live.add(name)
  context.session.onClose(() => void live.delete(name))
  await prune(context.workspace, directory)
  return {
    path: `${spoolFolder}/${name}`,
    write: async (chunk) => file.appendFile(chunk),
    writeAll: (chunks) => writeAll(file, chunks),
    replace: async (position, bytes) => void (await file.write(bytes, 0, bytes.length, position)),
    close: () => file.close(),
  }
}

// A disk that fills up takes a part of it; the error comes with the attempt to write the rest.
async function writeAll(file: FileHandle, chunks: Buffer[]): Promise<void> {
  const { bytesWritten } = await file.writev(chunks)
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  if (bytesWritten < size) await file.appendFile(Buffer.concat(chunks).subarray(bytesWritten))
}

/** Keeps a whole text; returns its workspace-relative path. */
export async function spool(context: Context, label: string, content: string, end?: string): Promise<string> {
  const file = await openSpool(context, label, end)
  try {
    await file.write(content)
  } finally {
    await file.close()
  }
  return file.path
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

const create = (directory: Handle, name: string): Promise<FileHandle> =>
  open(`${directory.ref}/${name}`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)

/** Removes the oldest files beyond the limits of count, size and age. */
async function prune(workspace: Workspace, directory: Handle): Promise<void> {
  const files = []
  for (const { name, kind } of await workspace.names(spoolFolder)) {
    const stat = kind === 'file' && name !== '.gitignore' ? await workspace.stat(`${spoolFolder}/${name}`) : undefined
    if (stat) files.push({ name, ...stat })
  }
  files.sort((a, b) => b.mtime_ms - a.mtime_ms)
  let bytes = 0
  for (const [index, file] of files.entries()) {
    bytes += file.bytes
    const over = index >= maxFiles || bytes > maxBytes || Date.now() - file.mtime_ms > maxAge
    if (over && !live.has(file.name)) await unlink(`${directory.ref}/${file.name}`).catch(() => undefined)
  }
}
