import { VtError } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { cutAtCodePoint, decodeBytes, shortenHash, type TextForm } from '../base/index.js'
import { findLineStart, type LineIndex, type ByteSource } from './lines.js'

/** The text of a file as UTF-8. */
export interface FileText {
  readonly source: ByteSource
  /** Offset of the first line. */
  readonly from: number
  /** Bytes of the file if they are in memory. */
  readonly whole?: Buffer
  /** Set if the UTF-16 contained invalid units. */
  readonly lossy?: boolean
}
export interface LinePage {
  readonly bytes: Buffer
  /** Number of the last line, even if cut. */
  readonly last: number
  /** Offset in the source after the last byte. */
  readonly end: number
  /** Set if the first line alone exceeds the page. */
  readonly cut: boolean
}

const MAX_IN_MEMORY_BYTES = 1024 * 1024
const MAX_UTF16_BYTES = 64 * 1024 * 1024

/** Loads small files and UTF-16 into memory; larger files are read in place. Throws VT_INPUT_TOO_LARGE. */
export async function openFileText(file: Handle, { encoding, bom }: TextForm): Promise<FileText> {
  const { bytes: size } = file.stat
  if (encoding !== 'utf-8') {
    if (size > MAX_UTF16_BYTES) throw createTooLargeError(file)
    const whole = await file.read(0, size)
    const { text, lossy } = decodeBytes(whole.subarray(bom), encoding)
    return { source: createMemorySource(Buffer.from(text)), from: 0, whole, lossy }
  }
  if (size > MAX_IN_MEMORY_BYTES) return { source: { bytes: size, read: (...range) => file.read(...range) }, from: bom }
  const whole = await file.read(0, size)
  return { source: createMemorySource(whole), from: bom, whole }
}

/** Reads the lines `first` to `last`, or as many whole ones as fit into `max` bytes. */
export async function readPage(
  source: ByteSource,
  index: LineIndex,
  first: number,
  last: number,
  max: number,
): Promise<LinePage> {
  const start = await findLineStart(first, index, source)
  const end = await findLineStart(last + 1, index, source)
  if (end - start <= max) return { bytes: await source.read(start, end - start), last, end, cut: false }
  const bytes = await source.read(start, max + 4)
  const lineEnd = bytes.lastIndexOf(10, max - 1) + 1
  if (lineEnd === 0) {
    const piece = cutAtCodePoint(bytes, max, 'utf-8')
    return { bytes: piece, last: first, end: start + piece.length, cut: true }
  }
  const lines = bytes.subarray(0, lineEnd)
  return { bytes: lines, last: first + countLineEnds(lines) - 1, end: start + lineEnd, cut: false }
}

/** Converts an offset in the text to an offset in the file. */
export async function toFileOffset({ source }: FileText, { encoding, bom }: TextForm, offset: number): Promise<number> {
  return encoding === 'utf-8' ? offset : bom + 2 * (await source.read(0, offset)).toString().length
}

/** Returns the hash of a text; `undefined` if the text is too large to read as a whole. */
export const hashText = ({ whole }: FileText, index: LineIndex): string | undefined =>
  whole ? shortenHash(sha256(whole)) : index.hash

/** Creates a source of bytes in memory. */
export const createMemorySource = (bytes: Buffer): ByteSource => ({
  bytes: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

function countLineEnds(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

const createTooLargeError = (file: Handle): VtError =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${file.path}' is UTF-16 and has ${file.stat.bytes} bytes; at most ${MAX_UTF16_BYTES} are decoded.`,
    hint: 'Read ranges of its bytes: give {field:offset_bytes} and {field:page_size_bytes}.',
    retryable: false,
    details: { size_bytes: file.stat.bytes, limit_bytes: MAX_UTF16_BYTES },
  })
