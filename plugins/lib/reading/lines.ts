import { createHash } from 'node:crypto'
import type { EntryStat } from '../../../core/workspace/index.js'

/** Bytes that can be asked for piece by piece. */
export interface ByteSource {
  readonly bytes: number
  read(offset: number, length: number, reused?: Buffer): Promise<Buffer>
}
/** Where the lines of a source begin, kept for every `stride`th. */
export interface LineIndex {
  readonly starts: readonly number[]
  readonly total: number
  readonly eol: 'lf' | 'crlf' | 'mixed' | 'none'
  /** Names the content; `undefined` if the source is larger than `hashed`. */
  readonly hash: string | undefined
}

const stride = 1024
const chunk = 1024 * 1024
/** Sources up to this size are hashed while their lines are counted. */
const hashed = 16 * 1024 * 1024

/** Counts the lines of `source` from `from` on; reads it once, into two buffers that take turns. */
export async function indexLines(source: ByteSource, from: number, signal: AbortSignal): Promise<LineIndex> {
  const hash = source.bytes <= hashed ? createHash('sha256') : undefined
  const starts = [from]
  let lines = 0
  let crlf = 0
  let last = 10
  const buffers = [0, 1].map(() => (source.bytes > chunk ? Buffer.allocUnsafe(chunk) : undefined))
  let pending = source.read(0, chunk, buffers[0])
  try {
    for (let offset = 0, turn = 1; offset < source.bytes; turn++) {
      const bytes = await pending
      signal.throwIfAborted()
      if (bytes.length === 0) break
      pending = source.read(offset + bytes.length, chunk, buffers[turn % 2])
      hash?.update(bytes)
      for (let at = bytes.indexOf(10, Math.max(0, from - offset)); at !== -1; at = bytes.indexOf(10, at + 1)) {
        if ((at > 0 ? bytes[at - 1] : last) === 13) crlf++
        if (++lines % stride === 0) starts.push(offset + at + 1)
      }
      last = bytes[bytes.length - 1]!
      offset += bytes.length
    }
  } finally {
    // The file may not be closed while a read is under way.
    await pending.catch(() => {})
  }
  const unfinished = source.bytes > from && last !== 10
  const eol = lines === 0 ? 'none' : crlf === 0 ? 'lf' : crlf === lines ? 'crlf' : 'mixed'
  return { starts, total: lines + (unfinished ? 1 : 0), eol, hash: hash?.digest('hex').slice(0, 16) }
}

/** Offset of the first byte of a line (1-based); the end of the source for the line after the last. */
export async function startOf(line: number, index: LineIndex, source: ByteSource): Promise<number> {
  if (line > index.total) return source.bytes
  let offset = index.starts[Math.floor((line - 1) / stride)]!
  let skip = (line - 1) % stride
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

const kept = new Map<string, LineIndex>()

/** `indexLines` of a file, remembered for the 32 last used as long as the file is the same. */
export async function keptIndex(
  stat: EntryStat,
  source: ByteSource,
  from: number,
  signal: AbortSignal,
): Promise<LineIndex> {
  const key = `${stat.dev}:${stat.ino}:${stat.bytes}:${stat.mtime_ns}`
  const index = kept.get(key) ?? (await indexLines(source, from, signal))
  kept.delete(key)
  // A file this young could change again without its time telling.
  if (Date.now() - stat.mtime_ms > 2000) kept.set(key, index)
  if (kept.size > 32) kept.delete(kept.keys().next().value!)
  return index
}
