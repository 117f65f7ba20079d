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

const UTF_32_MARK = Buffer.from([0xff, 0xfe, 0, 0])

/** Detects the encoding of a file from its first `HEAD_BYTES` bytes. */
export function detectTextForm(head: Buffer): TextForm {
  // A byte order mark of UTF-32 begins like that of UTF-16.
  if (head.subarray(0, 4).equals(UTF_32_MARK)) return { encoding: 'utf-8', bom: 0, binary: true }
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

/** Returns the text of a file as UTF-8 without the byte order mark of UTF-16; bytes of another encoding unchanged. */
export function toUtf8(bytes: Buffer): Buffer {
  const { encoding, bom } = detectTextForm(bytes)
  return encoding === 'utf-8' ? bytes : Buffer.from(decodeBytes(bytes.subarray(bom), encoding).text)
}

/**
 * Returns whether ASCII text may be written into a file byte by byte. It may not in UTF-16 or UTF-32 without a byte
 * order mark, which have many NUL bytes: mostly in every second place, or in most places.
 */
export function isAsciiCompatible(bytes: Buffer): boolean {
  const head = bytes.subarray(0, HEAD_BYTES)
  if (head.subarray(0, 4).equals(UTF_32_MARK)) return false
  const nuls = [0, 0]
  for (let at = head.indexOf(0); at !== -1; at = head.indexOf(0, at + 1)) nuls[at % 2]!++
  const [even, odd] = nuls as [number, number]
  const all = even + odd
  if (all * 2 >= head.length) return all === 0
  if (all === 0 || Math.min(even, odd) * 10 > all) return true
  if (all * 8 >= head.length) return false
  const { text } = decodeBytes(head.subarray(0, head.length & ~1), odd > even ? 'utf-16le' : 'utf-16be')
  return isUtf8(bytes) || /[^\P{C}\t\n\r]/u.test(text)
}

/**
 * Returns whether the text of a file is in an encoding other than UTF-8, such as Latin-1. With a byte order mark it is
 * not, and a few invalid bytes in UTF-8 are only damage.
 */
export function isOtherEncoding(bytes: Buffer): boolean {
  if (isUtf8(bytes) || detectTextForm(bytes).bom > 0) return false
  let [valid, invalid] = [0, 0]
  for (const { 0: run } of bytes.toString().matchAll(/\ufffd+|[^\x00-\x7f\ufffd]+/g)) {
    if (run.startsWith('\ufffd')) invalid += run.length
    else valid += run.length
  }
  return valid <= 3 * invalid
}

/**
 * Returns whether a character may begin at an offset of a text in an encoding of one or two bytes a character: the
 * second byte of Shift-JIS, GBK, Big5 and GB 18030 may be an ASCII letter or digit.
 */
export function isCharacterStart(bytes: Buffer, offset: number): boolean {
  if (!isSecondByte(bytes[offset])) return true
  let start = offset
  while (start > 0 && isSecondByte(bytes[start - 1])) start--
  // Kana of half width are one byte in Shift-JIS and the first of two elsewhere, so both readings count.
  return [false, true].every((hasKana) => {
    let at = start
    while (at < offset) at += isFirstByte(bytes[at]!, hasKana) && isSecondByte(bytes[at + 1]) ? 2 : 1
    return at === offset
  })
}

const isFirstByte = (byte: number, hasKana: boolean): boolean =>
  byte >= 0x81 && !(hasKana && byte >= 0xa1 && byte <= 0xdf)

const isSecondByte = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte !== 0x7f
