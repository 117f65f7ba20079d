import { constants, fstatSync, writeSync } from 'node:fs'
import { readdir, rename, type FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { writeState } from '../../../core/system/index.js'
import type { Handle, Workspace } from '../../../core/workspace/index.js'
import { historyFolder } from '../../lib/files/index.js'
import { openPrivateFile, openPrivateFolder, readPrivateFile, CALLS_FOLDER } from '../../lib/state/index.js'
import { AgentError, toErrorMessage, type Log, type Store } from '../base/index.js'
import { createMark } from './journal.js'
import type { LeaseFence } from './lease.js'
import { lockSession } from './lock.js'

const largestLog = 64 * 1024 * 1024

/** Returns whether an id can be the name of a folder. */
export const isValidSessionId = (id: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id)

const { O_RDWR, O_CREAT, O_APPEND } = constants

export interface StoreOptions {
  must_exist: boolean
  /** The lease under which the session runs for another machine. */
  fence?: LeaseFence | undefined
}

/**
 * Opens a session on disk and locks it until it is closed. Throws VT_SESSION_LOCKED, VT_SESSION_NOT_FOUND,
 * VT_SESSION_WRITE. With a lease, each write throws VT_QUEUE_LOST once the lease is over.
 */
export async function openStore(workspace: Workspace, id: string, how: StoreOptions): Promise<Store> {
  const path = `${CALLS_FOLDER}/${id}`
  if (how.must_exist && !(isValidSessionId(id) && (await workspace.stat(`${path}/messages.jsonl`))))
    throw new AgentError('VT_SESSION_NOT_FOUND', `Session not found: '${id}' in this workspace.`)
  const folder = await openPrivateFolder(workspace, path).catch((error: unknown) =>
    Promise.reject(toSessionError(path, error)),
  )
  try {
    return new DiskStore(workspace, path, folder, await lockSession(workspace, path, folder), how.fence)
  } catch (error) {
    await folder.close()
    throw toSessionError(path, error)
  }
}

class DiskStore implements Store {
  readonly mark: Store['mark']
  private readonly logs = new Map<Log, Promise<FileHandle>>()
  private readonly unsynced = new Set<Log>()
  private synced: Promise<void> = Promise.resolve()
  private readonly writing = new Map<string, Promise<void>>()

  constructor(
    private readonly workspace: Workspace,
    private readonly path: string,
    private readonly folder: Handle,
    private readonly release: () => Promise<void>,
    private readonly fence: LeaseFence | undefined,
  ) {
    this.mark = createMark(workspace, basename(path))
  }

  get lease(): number | undefined {
    return this.fence?.number
  }

  async append(log: Log, line: string): Promise<void> {
    this.fence?.check()
    try {
      const file = await this.log(log)
      // A synchronous write only copies to the page cache; a trip through the thread pool per line would dominate the
      // cost of a turn.
      const bytes = Buffer.from(line)
      for (let at = 0; at < bytes.length;) at += writeSync(file.fd, bytes, at)
      this.unsynced.add(log)
    } catch (error) {
      throw createWriteError(log, error)
    }
  }

  sync(only?: Log): Promise<void> {
    const logs = [...this.unsynced].filter((log) => only === undefined || log === only)
    for (const log of logs) this.unsynced.delete(log)
    // A running sync counts too. After a failed sync, every later sync fails.
    const all = [
      this.synced,
      ...logs.map((log) =>
        this.log(log)
          .then((file) => file.datasync())
          .catch((error: unknown) => Promise.reject(createWriteError(log, error))),
      ),
    ]
    this.synced = Promise.all(all).then(() => {})
    this.synced.catch(() => {})
    return this.synced
  }

  async roll(log: Log): Promise<void> {
    this.fence?.check()
    const file = await this.log(log)
    if (fstatSync(file.fd).size < largestLog) return
    await this.sync()
    const base = log.replace('.jsonl', '')
    const taken = (await readdir(this.folder.ref)).flatMap((name) =>
      Number(new RegExp(`^${base}\\.(\\d+)\\.jsonl$`).exec(name)?.[1] ?? []),
    )
    await file.close()
    this.logs.delete(log)
    await rename(`${this.folder.ref}/${log}`, `${this.folder.ref}/${base}.${Math.max(0, ...taken) + 1}.jsonl`)
  }

  private log(name: Log): Promise<FileHandle> {
    const known = this.logs.get(name)
    if (known) return known
    const file = openPrivateFile(`${this.folder.ref}/${name}`, O_RDWR | O_CREAT | O_APPEND)
    this.logs.set(name, file)
    return file
  }

  async write(name: string, text: string): Promise<void> {
    this.fence?.check()
    if (name.includes('/')) await this.writeInFolder(`${this.path}/${dirname(name)}`, basename(name), text)
    else await this.queueWrite(name, () => replaceFile(`${this.folder.ref}/${name}`, name, text, { durable: true }))
  }

  /** Queues writes to one file, so that the last one stays. */
  private queueWrite(name: string, write: () => Promise<void>): Promise<void> {
    const written = (this.writing.get(name) ?? Promise.resolve()).then(write, write)
    this.writing.set(name, written)
    return written
  }

  async archive(name: string, text: string): Promise<string> {
    this.fence?.check()
    await this.writeInFolder(historyFolder, name, text)
    return `${historyFolder}/${name}`
  }

  private async writeInFolder(path: string, name: string, text: string): Promise<void> {
    const folder = await openPrivateFolder(this.workspace, path).catch((error: unknown) =>
      Promise.reject(createWriteError(`${path}/${name}`, error)),
    )
    try {
      await replaceFile(`${folder.ref}/${name}`, name, text, { durable: false })
    } finally {
      await folder.close()
    }
  }

  read(name: string): Promise<string | undefined> {
    return readPrivateFile(`${this.folder.ref}/${name}`).catch((error: unknown) =>
      Promise.reject(createReadError(`${this.path}/${name}`, error)),
    )
  }

  async cut(log: Log, bytes: number): Promise<void> {
    this.fence?.check()
    const file = await this.log(log)
    await file.truncate(bytes)
  }

  async close(): Promise<void> {
    for (const file of this.logs.values()) await file.then((handle) => handle.close()).catch(() => {})
    await this.release()
    await this.folder.close()
  }
}

/** Replaces a file atomically: a reader sees the old text or the new one. */
async function replaceFile(path: string, name: string, text: string, { durable }: { durable: boolean }): Promise<void> {
  await writeState(path, text, { durable }).catch((error: unknown) => Promise.reject(createWriteError(name, error)))
}

// Node names the path by our file descriptor, which means nothing to a person.
const createWriteError = (name: string, error: unknown): AgentError =>
  new AgentError('VT_SESSION_WRITE', `${name} cannot be written: ${toErrorMessage(error).replace(/, \w+ '.*$/, '')}.`)

/** Creates the error of an unreadable file. It never counts as missing: the next write would replace it. */
export const createReadError = (path: string, error: unknown): AgentError =>
  new AgentError('VT_SESSION_CORRUPT', `${path} cannot be read: ${toErrorMessage(error)}.`, {
    hint: 'Check the file by hand; nothing was changed.',
  })

/** Converts errors of the file system to VT_SESSION_WRITE; other errors stay unchanged. */
const toSessionError = (name: string, error: unknown): unknown =>
  typeof (error as NodeJS.ErrnoException).syscall === 'string' ? createWriteError(name, error) : error

/** Creates the store of a session that ends with the program. */
export function createMemoryStore(): Store {
  const files = new Map<string, string>()
  return {
    append: async (log, line) => void files.set(log, (files.get(log) ?? '') + line),
    sync: async () => {},
    roll: async () => {},
    write: async (name, text) => void files.set(name, text),
    read: async (name) => files.get(name),
    mark: () => '',
    archive: async (name, text) => (files.set(name, text), `${historyFolder}/${name}`),
    cut: async (log, bytes) =>
      void files.set(
        log,
        Buffer.from(files.get(log) ?? '')
          .subarray(0, bytes)
          .toString(),
      ),
    close: async () => {},
  }
}
