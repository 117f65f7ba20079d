import type { Redis } from 'ioredis'
import type * as BullMq from 'bullmq'
import { createQueueError, type EngineOptions } from '../../lib/jobs/index.js'

/** The modules of the optional peers, and the first connection. */
export interface RedisConnection {
  bullmq: typeof BullMq
  /** Opens another connection; a blocking one waits for the server as long as needed. */
  open(how?: { blocking?: true }): Redis
  redis: Redis
  /** Closes every connection. */
  close(): void
}

/** A server that is silent for longer counts as unreachable. */
export const ANSWER_TIMEOUT_MS = 4000
const INSTALL = 'Install both packages next to vtcode: npm install bullmq@6 ioredis'

async function importPeers(): Promise<[typeof BullMq, typeof Redis]> {
  try {
    const [bullmq, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
    return [bullmq, Redis]
  } catch (error) {
    if (!/^(?:ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND)$/.test((error as { code?: string }).code ?? '')) throw error
    throw createQueueError('VT_QUEUE_NO_ENGINE', 'The packages bullmq and ioredis are not installed.', INSTALL)
  }
}

/** Connects and checks the server once. */
export async function connectRedis(options: EngineOptions): Promise<RedisConnection> {
  const [bullmq, Client] = await importPeers()
  const clients: Redis[] = []
  const open: RedisConnection['open'] = (how) => {
    const client = new Client(options.url, {
      connectTimeout: ANSWER_TIMEOUT_MS,
      lazyConnect: true,
      maxRetriesPerRequest: how?.blocking ? null : 20,
      retryStrategy: (attempt) => Math.min(50 * attempt, 500),
      enableReadyCheck: true,
    })
    // The last fault is part of the error of the call that fails.
    client.on('error', () => {})
    clients.push(client)
    return client
  }
  const redis = open()
  try {
    await within(firstFault(redis), options.url)
    await requireDurable(redis, options)
  } catch (error) {
    redis.disconnect()
    throw error
  }
  return { bullmq, open, redis, close: () => clients.forEach((client) => client.disconnect()) }
}

/** Connects; rejects with the first fault instead of trying again. */
async function firstFault(redis: Redis): Promise<void> {
  const failed = new Promise<never>((_, reject) => redis.once('error', reject))
  failed.catch(() => {})
  await Promise.race([redis.connect().then(() => redis.ping()), failed])
}

/** Waits for an answer. Throws VT_QUEUE_UNREACHABLE, without the password of the URL, after the limit or a fault. */
export async function within<T>(answer: Promise<T>, url: string, ms = ANSWER_TIMEOUT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not answer within ${ms / 1000} s`)), ms)
  })
  try {
    return await Promise.race([answer, late])
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('VT_')) throw error
    throw createQueueError(
      'VT_QUEUE_UNREACHABLE',
      `The queue server ${hidePassword(url)} cannot be used: ${describeFault(error as Error)}.`,
      'Check automation.distributed.url, the password, and whether the server runs.',
      true,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Returns protocol, host and port of a URL. */
export function hidePassword(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

const describeFault = ({ message, ...more }: Error & { command?: unknown; lastNodeError?: Error }): string =>
  (more.lastNodeError?.message ?? message).split('\n')[0]!.replace(/\.$/, '').slice(0, 200)

/**
 * Checks that the server evicts nothing and writes jobs to its disk. INFO answers where CONFIG is not allowed. Throws
 * VT_QUEUE_NOT_DURABLE.
 */
async function requireDurable(redis: Redis, { url, require_durable }: EngineOptions): Promise<void> {
  const info = await within(redis.info(), url)
  const read = (key: string): string => new RegExp(`^${key}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown'
  const policy = read('maxmemory_policy')
  const aof = read('aof_enabled')
  const fixes = [
    ...(policy === 'noeviction' ? [] : [[`maxmemory-policy is '${policy}'`, 'CONFIG SET maxmemory-policy noeviction']]),
    ...(aof === '1' || !require_durable ? [] : [[`appendonly is off`, 'CONFIG SET appendonly yes']]),
  ]
  if (fixes.length === 0) return
  throw createQueueError(
    'VT_QUEUE_NOT_DURABLE',
    `The queue server may lose accepted jobs: ${fixes.map(([what]) => what).join(', ')}.`,
    `Run on the server: ${fixes.map(([, how]) => `redis-cli ${how}`).join('; ')}` +
      (policy === 'noeviction' ? '. Or set automation.distributed.require_durable: false.' : ''),
  )
}
