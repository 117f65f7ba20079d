import { lines, type Consumer } from '../process/index.js'

/** One matching line, or one match that spans several. Offsets are bytes as the engine counts them. */
export interface MatchPosition {
  line_number: number
  end_line_number: number
  /** Where the first line starts in the file. */
  offset: number
  /** Bytes from the start of the line. */
  submatches: { start: number; end: number; text: string }[]
}
/** The places of one event; none where its middle was too long to be kept. */
export type ReadPositions = () => MatchPosition[]
export interface Listener {
  file(name: Buffer): void
  /** One event in the file named last. Where a match is a line it has one place; to read it costs more than to hear of it. */
  match(places: ReadPositions): void
  /** The file named last turned out to be no text. */
  binary?(): void
  searched?(files: number, bytes: number): void
}

const mostSubmatches = 100

/** A consumer that tells the listener each event as it comes. `several` says that a match may span lines. */
export function events(several: boolean, listener: Listener): Consumer {
  // Of `{"type":"begin"`, `{"type":"match"` and the rest one byte tells which it is.
  return lines((line) => {
    if (line[9] === 0x62) listener.file(bytesOf((JSON.parse(line.toString()) as BeginEvent).data.path))
    else if (line[9] === 0x6d) listener.match(() => placesOf(line, several))
    else if (line[9] === 0x65) {
      if ((JSON.parse(line.toString()) as EndEvent).data.binary_offset !== null) listener.binary?.()
    } else if (listener.searched && line.length > 0) {
      const { searches, bytes_searched } = (JSON.parse(line.toString()) as Summary).data.stats
      listener.searched(searches, bytes_searched)
    }
  }).take
}

type Text = { text: string } | { bytes: string }
interface BeginEvent {
  data: { path: Text }
}
interface MatchEvent {
  data: { lines: Text; line_number: number; absolute_offset: number; submatches: { match: Text; start: number; end: number }[] }
}
interface EndEvent {
  data: { binary_offset: number | null }
}
interface Summary {
  data: { stats: { searches: number; bytes_searched: number } }
}

const bytesOf = (text: Text): Buffer => ('text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64'))

function placesOf(line: Buffer, several: boolean): MatchPosition[] {
  const event = parse(line)
  if (!event) return []
  return several ? each(event) : [whole(event)]
}

function parse(line: Buffer): MatchEvent | undefined {
  try {
    return JSON.parse(line.toString()) as MatchEvent
  } catch {
    // The middle of a long line is missing. Inside JSON text quotes are escaped, so this is where the line itself ends.
    const end = line.lastIndexOf('"},"line_number":')
    return end < 0 ? undefined : (JSON.parse(`{"data":{"lines":{"text":"${line.toString('utf8', end)}`) as MatchEvent)
  }
}

function whole({ data }: MatchEvent): MatchPosition {
  const submatches = data.submatches.slice(0, mostSubmatches).map(({ match, start, end }) => ({ start, end, text: bytesOf(match).toString() }))
  return { line_number: data.line_number, end_line_number: data.line_number, offset: data.absolute_offset, submatches }
}

/** One place for each match: where matches span lines, ripgrep joins those that touch the same lines. */
function each({ data }: MatchEvent): MatchPosition[] {
  const bytes = bytesOf(data.lines)
  return data.submatches.map(({ match, start, end }) => {
    const before = bytes.subarray(0, start)
    const from = before.lastIndexOf(10) + 1
    const line_number = data.line_number + newlines(before)
    const inside = newlines(bytes.subarray(start, Math.max(start, end - 1)))
    const submatches = [{ start: start - from, end: end - from, text: bytesOf(match).toString() }]
    return { line_number, end_line_number: line_number + inside, offset: data.absolute_offset + from, submatches }
  })
}

function newlines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
