import type { Handle } from '../../../core/workspace/index.js'
import { countCodePoints } from '../base/index.js'

/** Bytes of a file as search engines count them: UTF-16 converted to UTF-8, without a byte order mark. */
export interface TextSource {
  readonly bytes: number
  read(offset: number, length: number): Promise<Buffer>
}

/** Files up to this size are read once and kept in memory. */
const WHOLE_FILE_BYTES = 1_048_576

/** Opens the text of an open file. The caller closes the handle. */
export async function openTextSource(handle: Handle): Promise<TextSource> {
  const head = await handle.read(0, WHOLE_FILE_BYTES)
  const encoding =
    head[0] === 0xff && head[1] === 0xfe ? 'utf-16le' : head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
  if (encoding)
    return createMemorySource(Buffer.from(new TextDecoder(encoding).decode(await handle.read(0, handle.stat.bytes))))
  const mark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
  if (head.length === handle.stat.bytes) return createMemorySource(head.subarray(mark))
  return { bytes: handle.stat.bytes - mark, read: (offset, length) => handle.read(offset + mark, length) }
}

const createMemorySource = (bytes: Buffer): TextSource => ({
  bytes: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

/** Share of characters that text does not have. */
const MAX_ODD_SHARE = 0.3

/**
 * Returns whether the first bytes of a file are no text: a NUL byte, and many characters that no text has. In a file
 * that is `data` by its name the NUL byte is enough.
 */
export function isBinary(head: Buffer, data: boolean): boolean {
  if (!head.includes(0) || (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff))
    return false
  if (data) return true
  const text = head.toString()
  const odd = text.match(/[\0-\u0006\u000e-\u001a\u001c-\u001f\ufffd]/g)?.length ?? 0
  return odd > MAX_ODD_SHARE * text.length
}

/** Lines around a position are searched within this many bytes. */
const REACH_BYTES = 262_144

/** Reads at most `count` whole lines that end before `offset`, which is the start of a line. */
export async function readPreviousLines(source: TextSource, offset: number, count: number): Promise<Buffer[]> {
  const from = Math.max(0, offset - REACH_BYTES)
  const bytes = await source.read(from, offset - from)
  const found: Buffer[] = []
  let end = bytes.length
  while (found.length < count && end > 0) {
    const start = end > 1 ? bytes.lastIndexOf(10, end - 2) + 1 : 0
    found.unshift(chomp(bytes.subarray(start, end)))
    end = start
  }
  return found
}

/** Reads at most `count` lines from `offset` on, which is the start of a line or the end of the file. */
export async function readNextLines(source: TextSource, offset: number, count: number): Promise<Buffer[]> {
  const bytes = await source.read(offset, Math.min(REACH_BYTES, Math.max(0, source.bytes - offset)))
  const found: Buffer[] = []
  let start = 0
  while (found.length < count && start < bytes.length) {
    const at = bytes.indexOf(10, start)
    const end = at < 0 ? bytes.length : at + 1
    found.push(chomp(bytes.subarray(start, end)))
    start = end
  }
  return found
}

/** Returns a line without its terminator. */
export function chomp(line: Buffer): Buffer {
  if (line.at(-1) !== 10) return line
  return line.subarray(0, line.at(-2) === 13 ? -2 : -1)
}

/** Counts the code points between two offsets. */
export async function countCodePointsBetween(source: TextSource, from: number, to: number): Promise<number> {
  const step = 4_194_304
  let count = 0
  for (let at = from; at < to; at += step) count += countCodePoints(await source.read(at, Math.min(step, to - at)))
  return count
}
