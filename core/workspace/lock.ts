import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { problem } from '../shapes/index.js'
import { errno, sha256 } from '../system/index.js'

/** Waiting for another process ends after this long, unless it is said how long its work may take. */
const DEFAULT_WAIT_MS = 20_000

/**
 * Holds every key until disposed of: calls of this process queue up, other processes wait for it. Keys are taken in one order,
 * so that two holders never wait for each other. Throws VT_FILE_IO (retryable) when that takes too long, or the reason of `signal`.
 */
export async function lock(
  keys: readonly string[],
  path: string,
  signal?: AbortSignal,
  patienceMs = DEFAULT_WAIT_MS,
): Promise<AsyncDisposable> {
  const held: (() => Promise<void>)[] = []
  const release = async (): Promise<void> => {
    for (const free of held.reverse()) await free()
  }
  try {
    for (const key of [...new Set(keys)].sort()) {
      held.push(await enqueue(key, signal))
      held.push(await claim(key, path, signal, patienceMs))
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

/** A name that one process at a time can listen on, and that the system frees when the process ends, however it ends. */
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

/** A socket file that refuses for so long is nobody's. */
const ABANDONED_MS = 500

/**
 * Takes away a socket file on which nobody listens any more; only file systems keep them beyond their process. One that is just being made
 * refuses too, between its name and its first listener, so it has to be the same one for a while, and still be it.
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

/** Which file it is: a number alone is soon given to another one. */
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
