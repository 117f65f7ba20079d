import { VtError } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { cutAtCodePoint, decodeBytes, shortenHash, type TextForm } from '../base/index.js'
import { startOf, type LineIndex, type ByteSource } from './lines.js'

/** A file as UTF-8. */
export interface FileText {
  readonly source: ByteSource
  /** Where its first line begins. */
  readonly from: number
  /** The bytes of the file itself if they are in memory. */
  readonly whole?: Buffer
  /** Some of its UTF-16 was none. */
  readonly lossy?: boolean
}
export interface LinePage {
  readonly bytes: Buffer
  /** Number of the last line in it, also if that line is cut. */
  readonly last: number
  /** Offset in the source of the byte after it. */
  readonly end: number
  /** The first line alone is longer than the page. */
  readonly cut: boolean
}

const inMemory = 1024 * 1024
const largestUtf16 = 64 * 1024 * 1024

/** Small files and UTF-16 are held in memory, larger ones are read where they are. Throws VT_INPUT_TOO_LARGE. */
export async function fileText(file: Handle, { encoding, bom }: TextForm): Promise<FileText> {
  const { bytes: size } = file.stat
  if (encoding !== 'utf-8') {
    if (size > largestUtf16) throw tooLarge(file)
    const whole = await file.read(0, size)
    const { text, lossy } = decodeBytes(whole.subarray(bom), encoding)
    return { source: memory(Buffer.from(text)), from: 0, whole, lossy }
  }
  if (size > inMemory) return { source: { bytes: size, read: (...range) => file.read(...range) }, from: bom }
  const whole = await file.read(0, size)
  return { source: memory(whole), from: bom, whole }
}

/** Lines `first` to `last`, or as many whole ones of them as fit into `max` bytes. */
export async function pageOf(
  source: ByteSource,
  index: LineIndex,
  first: number,
  last: number,
  max: number,
): Promise<LinePage> {
  const start = await startOf(first, index, source)
  const end = await startOf(last + 1, index, source)
  if (end - start <= max) return { bytes: await source.read(start, end - start), last, end, cut: false }
  const bytes = await source.read(start, max + 4)
  const lineEnd = bytes.lastIndexOf(10, max - 1) + 1
  if (lineEnd === 0) {
    const piece = cutAtCodePoint(bytes, max, 'utf-8')
    return { bytes: piece, last: first, end: start + piece.length, cut: true }
  }
  const lines = bytes.subarray(0, lineEnd)
  return { bytes: lines, last: first + count(lines) - 1, end: start + lineEnd, cut: false }
}

/** The offset in the file of an offset in its text. */
export async function fileOffset({ source }: FileText, { encoding, bom }: TextForm, offset: number): Promise<number> {
  return encoding === 'utf-8' ? offset : bom + 2 * (await source.read(0, offset)).toString().length
}

/** Names a text's content; `undefined` for one so large that it is not read as a whole. */
export const hashOfText = ({ whole }: FileText, index: LineIndex): string | undefined =>
  whole ? shortenHash(sha256(whole)) : index.hash

const memory = (bytes: Buffer): ByteSource => ({
  bytes: bytes.length,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
})

function count(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

const tooLarge = (file: Handle): VtError =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${file.path}' is UTF-16 and has ${file.stat.bytes} bytes; at most ${largestUtf16} are decoded.`,
    hint: 'Read ranges of its bytes: give {field:offset_bytes} and {field:page_size_bytes}.',
    retryable: false,
    details: { size_bytes: file.stat.bytes, limit_bytes: largestUtf16 },
  })
