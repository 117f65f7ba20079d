import { isUtf8 } from 'node:buffer'
import type { Handle } from '../../../core/workspace/index.js'

/** A piece of a file as in the answer. */
export interface ByteSlice {
  content: string
  encoding: 'utf-8' | 'base64'
  offset_bytes: number
  bytes_returned: number
}

/** Bytes of a character after its first. */
const MAX_MORE_BYTES = 3

/**
 * Reads a range of a file as text if valid, else as base64. No border cuts a character, and incomplete characters stay:
 * consecutive pages add up to the file in any encoding. A range inside one character is returned unchanged.
 */
export async function sliceBytes(file: Handle, offset: number, size: number): Promise<ByteSlice> {
  const before = Math.min(MAX_MORE_BYTES, offset)
  const bytes = await file.read(offset - before, before + size + MAX_MORE_BYTES)
  const asked = { start: before, end: Math.min(bytes.length, before + size) }
  const start = findCharacterAround(bytes, asked.start)?.end ?? asked.start
  const last = findCharacterAround(bytes, asked.end)
  // A page shorter than its only character gets all of it.
  const end = last === undefined ? asked.end : last.start === start ? last.end : last.start
  const range = end > start ? { start, end } : asked
  const slice = bytes.subarray(range.start, range.end)
  const place = { offset_bytes: offset - before + range.start, bytes_returned: slice.length }
  return isUtf8(slice) && !slice.includes(0)
    ? { content: slice.toString(), encoding: 'utf-8', ...place }
    : { content: slice.toString('base64'), encoding: 'base64', ...place }
}

/** Returns the character that a border would cut. */
function findCharacterAround(bytes: Buffer, border: number): { start: number; end: number } | undefined {
  for (let start = border - 1; start >= Math.max(0, border - MAX_MORE_BYTES); start--) {
    const lead = bytes[start]!
    if ((lead & 0xc0) === 0x80) continue
    const end = start + (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)
    return end > border && end <= bytes.length && isUtf8(bytes.subarray(start, end)) ? { start, end } : undefined
  }
  return undefined
}
