import { createHash } from 'node:crypto'
import type { EntryStat } from '../../../core/workspace/index.js'

/** A source of bytes that is read piece by piece. */
export interface ByteSource {
  readonly bytes: number
  read(offset: number, length: number, reused?: Buffer): Promise<Buffer>
}
/** Index of the lines of a source: the offset of every `STRIDE`th line. */
export interface LineIndex {
  readonly starts: readonly number[]
  readonly total: number
  readonly eol: 'lf' | 'crlf' | 'mixed' | 'none'
  /** Hash of the content; `undefined` if the source exceeds `MAX_HASHED_BYTES`. */
  readonly hash: string | undefined
}

const STRIDE = 1024
const CHUNK_BYTES = 1024 * 1024
/** Sources up to this size are hashed while their lines are counted. */
const MAX_HASHED_BYTES = 16 * 1024 * 1024

/** Counts the lines of `source` from `from` on. Reads it once, into two alternating buffers. */
export async function indexLines(source: ByteSource, from: number, signal: AbortSignal): Promise<LineIndex> {
  const hash = source.bytes <= MAX_HASHED_BYTES ? createHash('sha256') : undefined
  const starts = [from]
  let lines = 0
  let crlf = 0
  let last = 10
  const buffers = [0, 1].map(() => (source.bytes > CHUNK_BYTES ? Buffer.allocUnsafe(CHUNK_BYTES) : undefined))
  let pending = source.read(0, CHUNK_BYTES, buffers[0])
  try {
    for (let offset = 0, turn = 1; offset < source.bytes; turn++) {
      const bytes = await pending
      signal.throwIfAborted()
      if (bytes.length === 0) break
      pending = source.read(offset + bytes.length, CHUNK_BYTES, buffers[turn % 2])
      hash?.update(bytes)
      for (let at = bytes.indexOf(10, Math.max(0, from - offset)); at !== -1; at = bytes.indexOf(10, at + 1)) {
        if ((at > 0 ? bytes[at - 1] : last) === 13) crlf++
        if (++lines % STRIDE === 0) starts.push(offset + at + 1)
      }
      last = bytes[bytes.length - 1]!
      offset += bytes.length
    }
  } finally {
    // The file must stay open during a read.
    await pending.catch(() => {})
  }
  const unfinished = source.bytes > from && last !== 10
  const eol = lines === 0 ? 'none' : crlf === 0 ? 'lf' : crlf === lines ? 'crlf' : 'mixed'
  return { starts, total: lines + (unfinished ? 1 : 0), eol, hash: hash?.digest('hex').slice(0, 16) }
}

/** Returns the offset of the first byte of a line (1-based); the end of the source for the line after the last. */
export async function findLineStart(line: number, index: LineIndex, source: ByteSource): Promise<number> {
  if (line > index.total) return source.bytes
  let offset = index.starts[Math.floor((line - 1) / STRIDE)]!
  let skip = (line - 1) % STRIDE
  while (skip > 0) {
    const bytes = await source.read(offset, 64 * 1024)
    if (bytes.length === 0) break
    let at = -1
    while (skip > 0) {
      const next = bytes.indexOf(10, at + 1)
      if (next === -1) break
      at = next
      skip--
    }
    offset += skip > 0 ? bytes.length : at + 1
  }
  return offset
}

const knownIndexes = new Map<string, LineIndex>()

/** Returns the line index of a file, cached for the 32 last used files until they change. */
export async function indexFileLines(
  stat: EntryStat,
  source: ByteSource,
  from: number,
  signal: AbortSignal,
): Promise<LineIndex> {
  const key = `${stat.dev}:${stat.ino}:${stat.bytes}:${stat.mtime_ns}`
  const index = knownIndexes.get(key) ?? (await indexLines(source, from, signal))
  knownIndexes.delete(key)
  // A very recent file could change again with the same timestamp.
  if (Date.now() - stat.mtime_ms > 2000) knownIndexes.set(key, index)
  if (knownIndexes.size > 32) knownIndexes.delete(knownIndexes.keys().next().value!)
  return index
}
