import { problem, type VtError } from '../../../core/shapes/index.js'
import {
  createSlotError,
  detectTextForm,
  encode,
  isAsciiCompatible,
  isCharacterStart,
  isOtherEncoding,
} from '../base/index.js'

const NOT_ASCII = /[^\x00-\x7f]/u

/** Creates the refusal of a change to a file that is not text. */
export const createBinaryError = (
  path: string,
  hint = 'Change it with a command. Run one with {slot:unified_exec/run}.',
): VtError => problem('VT_FILE_BINARY', { path }, { hint })

/** Refuses a file whose encoding is unknown and has no ASCII bytes. Throws VT_FILE_BINARY. */
export function refuseBinary(path: string, bytes: Buffer): void {
  const { encoding, binary } = detectTextForm(bytes)
  if (encoding === 'utf-8' && binary && !isAsciiCompatible(bytes)) throw createBinaryError(path)
}

/** Refuses new text whose bytes in the encoding of the file are unknown. Throws VT_FILE_ENCODING. */
export function refuseOtherEncoding(path: string, bytes: Buffer, text: string): void {
  const character = NOT_ASCII.exec(text)?.[0]
  if (character === undefined || !isOtherEncoding(bytes)) return
  const what = `'${path}' is not UTF-8, and ${JSON.stringify(character)} cannot be written in its encoding`
  throw createSlotError('VT_FILE_ENCODING', `${what}, which is unknown.`)
}

/** Refuses to replace bytes that may begin inside a character. Throws VT_FILE_ENCODING. */
export function refuseHalfCharacter(path: string, bytes: Buffer, offset: number): void {
  if (isCharacterStart(bytes, offset) || !isOtherEncoding(bytes)) return
  throw createSlotError(
    'VT_FILE_ENCODING',
    `'${path}' is not UTF-8, and the text to replace may begin with the second byte of a character.`,
    { hint: 'Begin {field:old_str} at white space or at the start of a line.' },
  )
}

/** Encodes text to add to a file: in its encoding, with its line ends. Throws VT_FILE_BINARY, VT_FILE_ENCODING. */
export function encodeAddition(path: string, text: string, file: Buffer): Buffer {
  const { encoding, bom } = detectTextForm(file)
  const isDamaged = encoding !== 'utf-8' && file.length % 2 === 1
  if (isDamaged) throw createBinaryError(path)
  const before = encoding === 'utf-8' ? file.toString('latin1') : decodeUtf16(file.subarray(bom), encoding)
  const added = text.includes('\r\n') || !endsInCrlf(before) ? text : text.replaceAll('\n', '\r\n')
  return encodeLike(path, added, file)
}

/**
 * Encodes text that replaces a whole file: in its encoding, with its byte order mark and its line ends. Text with
 * `\r\n` keeps its own line ends. Throws VT_FILE_BINARY, VT_FILE_ENCODING.
 */
export function encodeReplacement(path: string, text: string, file: Buffer): Buffer {
  const { encoding, bom, binary } = detectTextForm(file)
  const hint = 'Write to another path. Or delete the file first with {slot:unified_file/delete}.'
  if (binary) throw createBinaryError(path, hint)
  const before = encoding === 'utf-8' ? file.toString('latin1', bom) : decodeUtf16(file.subarray(bom), encoding)
  const body = bom > 0 ? text.replace(/^\uFEFF/, '') : text
  const kept = body.includes('\r\n') || !before.includes('\r\n') ? body : keepLineEnds(body, before, encoding)
  return Buffer.concat([file.subarray(0, bom), encodeLike(path, kept, file)])
}

/** Returns the kind of the line ends of a file; `undefined` without any. */
export function findLineEnds(file: Buffer): 'LF' | 'CRLF' | 'mixed' | undefined {
  const { encoding, bom } = detectTextForm(file)
  const text = encoding === 'utf-8' ? file.toString('latin1') : decodeUtf16(file.subarray(bom), encoding)
  const [all, crlf] = [text.split('\n').length - 1, text.split('\r\n').length - 1]
  if (all === 0) return undefined
  return crlf === 0 ? 'LF' : crlf === all ? 'CRLF' : 'mixed'
}

const decodeUtf16 = (bytes: Buffer, encoding: string): string =>
  new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes)

function encodeLike(path: string, text: string, file: Buffer): Buffer {
  const { encoding } = detectTextForm(file)
  if (encoding !== 'utf-8') return encode(text, encoding)
  refuseBinary(path, file)
  refuseOtherEncoding(path, file, text)
  return Buffer.from(text)
}

/** Returns whether the last line end is CRLF. */
function endsInCrlf(text: string): boolean {
  const last = text.lastIndexOf('\n')
  return last > 0 && text[last - 1] === '\r'
}

/** Gives each line the line end that it has in the old text; a new line that of the line before it. */
function keepLineEnds(text: string, before: string, encoding: string): string {
  const toKey = (line: string) => (encoding === 'utf-8' ? Buffer.from(line).toString('latin1') : line)
  const ends = new Map<string, string>()
  const old = before.split('\n').slice(0, -1)
  for (const line of old) {
    const isCrlf = line.endsWith('\r')
    const own = isCrlf ? line.slice(0, -1) : line
    if (!ends.has(own)) ends.set(own, isCrlf ? '\r\n' : '\n')
  }
  let end = old[0]?.endsWith('\r') ? '\r\n' : '\n'
  const lines = text.split('\n')
  const last = lines.pop()!
  return lines.map((line) => line + (end = ends.get(toKey(line)) ?? end)).join('') + last
}
