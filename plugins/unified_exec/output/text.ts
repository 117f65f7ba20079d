import { cutAtCodePoint } from '../../lib/base/index.js'

// ECMA-48: control sequences; strings (OSC, DCS, SOS, PM, APC) up to their end; escapes of two characters.
const ESCAPE_SEQUENCES =
  /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-Z\\`-~])/g
const WHOLE_SEQUENCE = new RegExp(`^(?:${ESCAPE_SEQUENCES.source})`)

/** Removes escape sequences and carriage returns; of an overwritten line, keeps the last text. */
export function toPlainText(text: string): string {
  const visible = text.includes('\x1b') ? text.replace(ESCAPE_SEQUENCES, '') : text
  if (!visible.includes('\r')) return visible
  return visible.replace(/\r+\n/g, '\n').split('\n').map(readLastState).join('\n')
}

function readLastState(line: string): string {
  if (!line.includes('\r')) return line
  return line.split('\r').findLast((state) => state !== '') ?? ''
}

/**
 * Returns the length that can be shown before more comes. It ends before a partial character and, in `plain` text,
 * before a partial escape sequence or `\r\n`.
 */
export function measureSafeLength(bytes: Buffer, plain: boolean): number {
  let length = measureWholeCharacters(bytes)
  if (!plain) return length
  const escape = bytes.lastIndexOf(0x1b, length - 1)
  if (length > 0 && escape >= 0 && !WHOLE_SEQUENCE.test(bytes.toString('latin1', escape, length))) length = escape
  return bytes[length - 1] === 0x0d ? length - 1 : length
}

function measureWholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return width > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** Returns the beginning of a text in at most `bytes` bytes, up to the end of a line unless that loses most of it. */
export function takeStart(text: string, bytes: number): string {
  const cut = cutAtCodePoint(Buffer.from(text), bytes, 'utf-8').toString()
  const border = cut.lastIndexOf('\n') + 1
  return border > cut.length / 2 ? cut.slice(0, border) : cut
}

/** Returns the end of a text in at most `bytes` bytes, from the start of a line unless that loses most of it. */
export function takeEnd(text: string, bytes: number): string {
  const all = Buffer.from(text)
  let start = Math.max(0, all.length - bytes)
  while (start < all.length && (all[start]! & 0xc0) === 0x80) start++
  const cut = all.toString('utf8', start)
  const startsLine = start === 0 || all[start - 1] === 10
  const border = startsLine ? 0 : cut.indexOf('\n') + 1
  return border < cut.length / 2 ? cut.slice(border) : cut
}
