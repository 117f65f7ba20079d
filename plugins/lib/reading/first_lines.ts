/** Limit of a text for a model without a requested range, in bytes. */
const MAX_SHOWN_BYTES = 48 * 1024
/** A longer line (in characters) is reduced to both ends. */
const MAX_LINE_CHARS = 2_000
const END_CHARS = 900

/** Beginning of a text for a model. */
export interface ShownText {
  text: string
  /** Number of lines in it; fewer than the file has if the text is longer. */
  lines: number
}

/** Returns the first whole lines, up to 48 KiB. `position` converts an offset in `bytes` to an offset in the file. */
export function takeFirstLines(bytes: Buffer, position: (byte: number) => number): ShownText {
  const shown: string[] = []
  let size = 0
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at) + 1 || bytes.length
    const line = shortenLine(bytes.subarray(at, end), () => position(at))
    size += Buffer.byteLength(line)
    if (size > MAX_SHOWN_BYTES && shown.length > 0) break
    shown.push(line)
    at = end
  }
  return { text: shown.join(''), lines: shown.length }
}

function shortenLine(line: Buffer, position: () => number): string {
  const text = line.toString()
  const characters = line.length > MAX_LINE_CHARS ? Array.from(text.replace(/\r?\n$/, '')) : []
  if (characters.length <= MAX_LINE_CHARS) return text
  const [head, tail] = [characters.slice(0, END_CHARS), characters.slice(-END_CHARS)].map((part) => part.join(''))
  const gap = `… (a line of ${characters.length} characters; offset_bytes=${position()} reads it) …`
  return `${head}${gap}${tail}${text.endsWith('\n') ? '\n' : ''}`
}
