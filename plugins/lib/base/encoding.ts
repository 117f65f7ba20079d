import { isUtf8 } from 'node:buffer'

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'
/** Encoding of the text of a file. */
export interface TextForm {
  encoding: Encoding
  /** Bytes of the byte order mark at the start; 0 without one. */
  bom: number
  /** A NUL among the first bytes of a file that is not UTF-16. */
  binary: boolean
}

/** Number of bytes that decide the encoding of a file. */
export const HEAD_BYTES = 8192

/** Detects the encoding of a file from its first `HEAD_BYTES` bytes. */
export function detectTextForm(head: Buffer): TextForm {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', bom: 2, binary: false }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', bom: 2, binary: false }
  const bom = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
  return { encoding: 'utf-8', bom, binary: head.subarray(0, HEAD_BYTES).includes(0) }
}

/** Decodes bytes without a byte order mark. `lossy` if invalid bytes became U+FFFD. */
export function decodeBytes(bytes: Buffer, encoding: Encoding): { text: string; lossy: boolean } {
  if (encoding === 'utf-8') return { text: bytes.toString(), lossy: !isUtf8(bytes) }
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
  return { text, lossy: bytes.length % 2 === 1 || !encode(text, encoding).equals(bytes) }
}

/** Encodes a text without a byte order mark. */
export function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text)
  const bytes = Buffer.from(text, 'utf16le')
  return encoding === 'utf-16le' ? bytes : bytes.swap16()
}

/** Returns the first `length` bytes or fewer, so that no code point is cut; never empty if `bytes` is not. */
export function cutAtCodePoint(bytes: Buffer, length: number, encoding: Encoding): Buffer {
  if (bytes.length <= length) return bytes
  if (encoding !== 'utf-8') {
    const end = Math.max(2, length - (length % 2))
    const lastUnit = bytes[encoding === 'utf-16le' ? end - 1 : end - 2]!
    return bytes.subarray(0, end > 2 && (lastUnit & 0xfc) === 0xd8 ? end - 2 : end)
  }
  let end = length
  while (end > Math.max(0, length - 3) && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.subarray(0, end || length)
}
