/** Most bytes of a file that a model is shown unasked. */
const MOST = 48 * 1024
/** Of a longer line both ends are shown, each of so many characters. */
const LONG = 2_000
const END = 900

/** What a model is shown of a text that nobody asked a part of. */
export interface ShownText {
  text: string
  /** How many of its lines that are; not all where the text is longer. */
  lines: number
}

/** The first whole lines, up to 48 KiB. `position` says where in the file a byte of the text stands. */
export function firstLines(bytes: Buffer, position: (byte: number) => number): ShownText {
  const shown: string[] = []
  let size = 0
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at) + 1 || bytes.length
    const line = shownLine(bytes.subarray(at, end), () => position(at))
    size += Buffer.byteLength(line)
    if (size > MOST && shown.length > 0) break
    shown.push(line)
    at = end
  }
  return { text: shown.join(''), lines: shown.length }
}

function shownLine(line: Buffer, position: () => number): string {
  const text = line.toString()
  const characters = line.length > LONG ? Array.from(text.replace(/\r?\n$/, '')) : []
  if (characters.length <= LONG) return text
  const [head, tail] = [characters.slice(0, END), characters.slice(-END)].map((part) => part.join(''))
  return `${head}… (a line of ${characters.length} characters; offset_bytes=${position()} reads it) …${tail}${text.endsWith('\n') ? '\n' : ''}`
}
