import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { problem } from '../shapes/index.js'
import { errno, sha256 } from '../system/index.js'

/** The time to wait for another process, unless the caller sets another one. */
const DEFAULT_WAIT_MS = 20_000

/**
 * Locks all keys until disposed of. Calls of this process queue up; other processes wait. Keys are taken in one
 * order, so that two holders never wait for each other. Throws VT_FILE_IO (retryable) after `patienceMs`, or the
 * reason of `signal`.
 */
export async function lock(
  keys: readonly string[],
  path: string,
  signal?: AbortSignal,
  patienceMs = DEFAULT_WAIT_MS,
): Promise<AsyncDisposable> {
  const releases: (() => Promise<void>)[] = []
  const release = async (): Promise<void> => {
    for (const free of releases.reverse()) await free()
  }
  try {
    for (const key of [...new Set(keys)].sort()) {
      releases.push(await enqueue(key, signal))
      releases.push(await claim(key, path, signal, patienceMs))
    }
  } catch (error) {
    await release()
    throw error
  }
  return { [Symbol.asyncDispose]: release }
}

const queues = new Map<string, Promise<unknown>>()

async function enqueue(key: string, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
  const before = queues.get(key)
  let resolve = (): void => {}
  const turn = Promise.all([before, new Promise<void>((done) => (resolve = done))])
  queues.set(key, turn)
  await before
  const leave = async (): Promise<void> => {
    if (queues.get(key) === turn) queues.delete(key)
    resolve()
  }
  if (!signal?.aborted) return leave
  await leave()
  throw signal.reason
}

/**
 * Returns the socket name of a key. One process at a time can listen on it, and the system frees it when the process
 * ends.
 */
const toAddress = (key: string): string => {
  const name = `vtcode-${sha256(key).slice(0, 32)}`
  return process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`)
}

async function claim(
  key: string,
  path: string,
  signal: AbortSignal | undefined,
  patienceMs: number,
): Promise<() => Promise<void>> {
  const deadline = Date.now() + patienceMs
  const sweep = createSocketSweeper(toAddress(key))
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const server = await listen(toAddress(key))
    if (server) return () => new Promise((resolve) => server.close(() => resolve()))
    if (Date.now() > deadline)
      throw problem(
        'VT_FILE_IO',
        { path, reason: 'another process keeps writing it' },
        { retryable: true, details: { errno: 'EBUSY' } },
      )
    await sweep()
    await sleep(pause * (0.5 + Math.random()), undefined, signal && { signal })
  }
}

const listen = (path: string): Promise<Server | undefined> =>
  new Promise((resolve, reject) => {
    const server = process.getBuiltinModule('node:net').createServer((socket) => socket.destroy())
    server.once('error', (error) => (errno(error) === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen({ path, exclusive: true }, () => resolve(server))
  })

/** A socket file that refuses connections for this long is abandoned. */
const ABANDONED_MS = 500

/**
 * Returns a function that removes an abandoned socket file; outside Linux such files outlive their process. A new
 * socket file refuses connections too until its process listens, so the file must stay the same one for a while.
 */
function createSocketSweeper(path: string): () => Promise<void> {
  let seen: { file: string; since: number } | undefined
  return async () => {
    if (process.platform === 'linux') return
    const file = identifyFile(path)
    if (file === undefined || !(await refusesConnections(path))) seen = undefined
    else if (seen?.file !== file) seen = { file, since: Date.now() }
    else if (Date.now() - seen.since > ABANDONED_MS && identifyFile(path) === file) rmSync(path, { force: true })
  }
}

/** Identifies a file by inode and change time: a file system soon reuses an inode alone. */
function identifyFile(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.ino} ${stat.ctimeNs}`
}

function refusesConnections(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = process
      .getBuiltinModule('node:net')
      .connect(path, () => resolve(false))
      .once('error', (error) => resolve(errno(error) === 'ECONNREFUSED'))
    socket.once('connect', () => socket.destroy())
  })
}
