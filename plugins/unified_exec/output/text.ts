import { cutAtCodePoint } from '../../lib/base/index.js'

// Control sequences, then strings (OSC, DCS, SOS, PM, APC) up to their end, then two-character escapes: ECMA-48.
const sequences = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-Z\\`-~])/g
const whole = new RegExp(`^(?:${sequences.source})`)

/** Output without escape sequences and carriage returns: an overwritten line is what was written last. */
export function plainText(text: string): string {
  const visible = text.includes('\x1b') ? text.replace(sequences, '') : text
  if (!visible.includes('\r')) return visible
  return visible.replace(/\r+\n/g, '\n').split('\n').map(lastState).join('\n')
}

function lastState(line: string): string {
  if (!line.includes('\r')) return line
  return line.split('\r').findLast((state) => state !== '') ?? ''
}

/**
 * Length of what can be shown before more comes: not up to the middle of a character nor, in `plain` text, of an escape
 * sequence or of `\r\n`.
 */
export function shownLength(bytes: Buffer, plain: boolean): number {
  let length = withoutPartialCharacter(bytes)
  if (!plain) return length
  const escape = bytes.lastIndexOf(0x1b, length - 1)
  if (length > 0 && escape >= 0 && !whole.test(bytes.toString('latin1', escape, length))) length = escape
  return bytes[length - 1] === 0x0d ? length - 1 : length
}

function withoutPartialCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const width = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return width > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** The beginning of a text in at most `bytes` bytes, up to the end of a line unless that would lose most of it. */
export function beginning(text: string, bytes: number): string {
  const cut = cutAtCodePoint(Buffer.from(text), bytes, 'utf-8').toString()
  const border = cut.lastIndexOf('\n') + 1
  return border > cut.length / 2 ? cut.slice(0, border) : cut
}

/** The end of a text, likewise. */
export function ending(text: string, bytes: number): string {
  const all = Buffer.from(text)
  let start = Math.max(0, all.length - bytes)
  while (start < all.length && (all[start]! & 0xc0) === 0x80) start++
  const cut = all.toString('utf8', start)
  const startsLine = start === 0 || all[start - 1] === 10
  const border = startsLine ? 0 : cut.indexOf('\n') + 1
  return border < cut.length / 2 ? cut.slice(border) : cut
}
