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
  /** Whether the matches in a file are to be told, else only how many they are. */
  file(name: Buffer): boolean
  /** One event in the file named last. Where a match is a line it has one place; to read it costs more than to hear of it. `false` for no more of this file. */
  match(places: ReadPositions): void | false
  /** The file named last is behind: how many matching lines and matches, and whether it turned out to be no text. `false` ends the search. */
  end?(lines: number, matches: number, binary: boolean): void | false
  searched?(files: number, bytes: number): void
}

const mostSubmatches = 100
/** Of an event that is longer nothing is kept. */
const longestKept = 65_536
/** The same where matches may span lines: such an event is read at once, and of a longer one the middle may be lost. */
const longestOfSeveral = 1_048_576

const begin = Buffer.from('{"type":"begin","data":{"path":{"text":"')
const end = '{"type":"end"'

/** A consumer that tells the listener each event as it comes. `several` says that a match may span lines. */
export function events(several: boolean, listener: Listener): Consumer {
  // Of `{"type":"begin"`, `{"type":"match"` and the rest one byte tells which it is.
  return lines((line) => {
    if (line[9] === 0x62) return listener.file(nameIn(line)) ? undefined : end
    if (line[9] === 0x6d) return listener.match(kept(line, several)) === false ? end : undefined
    if (line[9] === 0x65) {
      const [, matching, matches] =
        /"matched_lines":(\d+),"matches":(\d+)\}\}\}$/.exec(line.toString('latin1', Math.max(0, line.length - 80))) ??
        []
      return listener.end?.(Number(matching), Number(matches), !line.includes('"binary_offset":null'))
    } else if (listener.searched && line.length > 0) {
      const { searches, bytes_searched } = (JSON.parse(line.toString()) as Summary).data.stats
      listener.searched(searches, bytes_searched)
    }
    return undefined
  }).take
}

function nameIn(line: Buffer): Buffer {
  const plain = line.subarray(0, begin.length).equals(begin) && !line.includes(0x5c)
  return plain
    ? Buffer.from(line.subarray(begin.length, -4))
    : bytesOf((JSON.parse(line.toString()) as BeginEvent).data.path)
}

/** Returns what is needed of an event later: where a match is a line, what stands after its text. */
function kept(line: Buffer, several: boolean): ReadPositions {
  const plain = several ? undefined : plainPlace(line)
  if (plain) return () => [plain]
  const from = several ? 0 : line.lastIndexOf(behindText) + 2
  const isLong = line.length - from > (several ? longestOfSeveral : longestKept)
  const text = isLong ? '' : several ? line.toString() : `{"data":{${line.toString('utf8', from)}`
  const event = () => JSON.parse(text) as MatchEvent
  return () => (text === '' ? [] : several ? each(event()) : [whole(event())])
}

// Inside JSON text quotes are escaped, so this is where the text of the lines ends.
const behindText = '},"line_number":'

type Text = { text: string } | { bytes: string }
interface BeginEvent {
  data: { path: Text }
}
interface MatchEvent {
  data: {
    lines?: Text
    line_number: number
    absolute_offset: number
    submatches: { match: Text; start: number; end: number }[]
  }
}
interface Summary {
  data: { stats: { searches: number; bytes_searched: number } }
}

const bytesOf = (text: Text): Buffer => ('text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64'))
const textOf = (text: Text): string => ('text' in text ? text.text : bytesOf(text).toString())

/** What follows the text of a line with one match of plain characters, as most lines are. */
const plainMatch =
  /^\},"line_number":(\d+),"absolute_offset":(\d+),"submatches":\[\{"match":\{"text":"([^"\\]*)"\},"start":(\d+),"end":(\d+)\}\]\}\}$/

/** The place of such a line: to find its figures takes half as long as to read it as JSON. */
function plainPlace(line: Buffer): MatchPosition | undefined {
  const end = line.lastIndexOf(behindText)
  const [, number, offset, match, from, to] = plainMatch.exec(line.toString('utf8', end)) ?? []
  if (match === undefined) return undefined
  const line_number = Number(number)
  const submatches = [{ start: Number(from), end: Number(to), text: match }]
  return { line_number, end_line_number: line_number, offset: Number(offset), submatches }
}

function whole({ data }: MatchEvent): MatchPosition {
  const first = data.submatches.length > mostSubmatches ? data.submatches.slice(0, mostSubmatches) : data.submatches
  const submatches = first.map(({ match, start, end }) => ({ start, end, text: textOf(match) }))
  return { line_number: data.line_number, end_line_number: data.line_number, offset: data.absolute_offset, submatches }
}

/** One place for each match: where matches span lines, ripgrep joins those that touch the same lines. */
function each({ data }: MatchEvent): MatchPosition[] {
  const bytes = bytesOf(data.lines!)
  return data.submatches.map(({ match, start, end }) => {
    const before = bytes.subarray(0, start)
    const from = before.lastIndexOf(10) + 1
    const line_number = data.line_number + newlines(before)
    const inside = newlines(bytes.subarray(start, Math.max(start, end - 1)))
    const submatches = [{ start: start - from, end: end - from, text: textOf(match) }]
    return { line_number, end_line_number: line_number + inside, offset: data.absolute_offset + from, submatches }
  })
}

function newlines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
