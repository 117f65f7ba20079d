import { isUtf8 } from 'node:buffer'
import type { Handle } from '../../../../core/workspace/index.js'

/** A piece of a file in the terms of the answer. */
export interface ByteSlice {
  content: string
  encoding: 'utf-8' | 'base64'
  offset_bytes: number
  bytes_returned: number
}

/** A range of a file: as text if it is some once characters cut at its borders are left out, else as base64. */
export async function sliceBytes(file: Handle, offset: number, size: number): Promise<ByteSlice> {
  const bytes = await file.read(offset, size)
  const start = leading(bytes)
  const end = offset + bytes.length < file.stat.bytes ? complete(bytes) : bytes.length
  const text = bytes.subarray(start, end)
  if (isUtf8(text) && !text.includes(0) && (text.length > 0 || bytes.length === 0)) {
    return { content: text.toString(), encoding: 'utf-8', offset_bytes: offset + start, bytes_returned: text.length }
  }
  return { content: bytes.toString('base64'), encoding: 'base64', offset_bytes: offset, bytes_returned: bytes.length }
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** How many bytes in front belong to a character that began before. */
function leading(bytes: Buffer): number {
  let start = 0
  while (start < 3 && continues(bytes[start])) start++
  return start
}

/** The length without a character whose end is missing. */
function complete(bytes: Buffer): number {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && continues(bytes[start])) start--
  const lead = bytes[start] ?? 0
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + width > bytes.length ? start : bytes.length
}
