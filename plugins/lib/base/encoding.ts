import { isUtf8 } from 'node:buffer'

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'
/** How the bytes of a file are to be read as text. */
export interface TextForm {
  encoding: Encoding
  /** Bytes of the byte order mark at the start; 0 without one. */
  bom: number
  /** A NUL among the first bytes of a file that is not UTF-16. */
  binary: boolean
}

/** Bytes that decide about the form of a file. */
export const HEAD_BYTES = 8192

/** Recognises the form of a file by its first `headBytes` bytes. */
export function detectTextForm(head: Buffer): TextForm {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', bom: 2, binary: false }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', bom: 2, binary: false }
  const bom = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0
  return { encoding: 'utf-8', bom, binary: head.subarray(0, HEAD_BYTES).includes(0) }
}

/** Bytes without their mark as text; `lossy` if some were no text and became U+FFFD. */
export function decodeBytes(bytes: Buffer, encoding: Encoding): { text: string; lossy: boolean } {
  if (encoding === 'utf-8') return { text: bytes.toString(), lossy: !isUtf8(bytes) }
  const text = new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)
  return { text, lossy: bytes.length % 2 === 1 || !encode(text, encoding).equals(bytes) }
}

/** Text as the bytes of a file of that encoding, without a mark. */
export function encode(text: string, encoding: Encoding): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text)
  const bytes = Buffer.from(text, 'utf16le')
  return encoding === 'utf-16le' ? bytes : bytes.swap16()
}

/** The start of `bytes` up to `length`, shortened so that no code point is cut; never empty if `bytes` is not. */
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
