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
export interface RipgrepListener {
  /** Whether the matches in a file are to be told, else only how many they are. */
  onFile(name: Buffer): boolean
  /** One event in the file named last. Where a match is a line it has one place; to read it costs more than to hear of it. `false` for no more of this file. */
  onMatch(places: ReadPositions): void | false
  /** The file named last is behind: how many matching lines and matches, and whether it turned out to be no text. `false` ends the search. */
  onEnd?(lines: number, matches: number, binary: boolean): void | false
  onSearched?(files: number, bytes: number): void
}

const MAX_SUBMATCHES = 100
/** Of an event that is longer nothing is kept. */
const MAX_EVENT_BYTES = 65_536
/** The same where matches may span lines: such an event is read at once, and of a longer one the middle may be lost. */
const MAX_MULTILINE_EVENT_BYTES = 1_048_576

const BEGIN = Buffer.from('{"type":"begin","data":{"path":{"text":"')
const END = '{"type":"end"'

/** A consumer that tells the listener each event as it comes. `several` says that a match may span lines. */
export function createEventReader(several: boolean, listener: RipgrepListener): Consumer {
  // Of `{"type":"begin"`, `{"type":"match"` and the rest one byte tells which it is.
  return lines((line) => {
    if (line[9] === 0x62) return listener.onFile(readName(line)) ? undefined : END
    if (line[9] === 0x6d) return listener.onMatch(deferPositions(line, several)) === false ? END : undefined
    if (line[9] === 0x65) {
      const [, matching, matches] =
        /"matched_lines":(\d+),"matches":(\d+)\}\}\}$/.exec(line.toString('latin1', Math.max(0, line.length - 80))) ??
        []
      return listener.onEnd?.(Number(matching), Number(matches), !line.includes('"binary_offset":null'))
    } else if (listener.onSearched && line.length > 0) {
      const { searches, bytes_searched } = (JSON.parse(line.toString()) as Summary).data.stats
      listener.onSearched(searches, bytes_searched)
    }
    return undefined
  }).take
}

function readName(line: Buffer): Buffer {
  const plain = line.subarray(0, BEGIN.length).equals(BEGIN) && !line.includes(0x5c)
  return plain
    ? Buffer.from(line.subarray(BEGIN.length, -4))
    : toBytes((JSON.parse(line.toString()) as BeginEvent).data.path)
}

/** Returns what is needed of an event later: where a match is a line, what stands after its text. */
function deferPositions(line: Buffer, several: boolean): ReadPositions {
  const plain = several ? undefined : parsePlainMatch(line)
  if (plain) return () => [plain]
  const from = several ? 0 : line.lastIndexOf(AFTER_TEXT) + 2
  const isLong = line.length - from > (several ? MAX_MULTILINE_EVENT_BYTES : MAX_EVENT_BYTES)
  const text = isLong ? '' : several ? line.toString() : `{"data":{${line.toString('utf8', from)}`
  const event = () => JSON.parse(text) as MatchEvent
  return () => (text === '' ? [] : several ? toPositions(event()) : [toPosition(event())])
}

// Inside JSON text quotes are escaped, so this is where the text of the lines ends.
const AFTER_TEXT = '},"line_number":'

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

const toBytes = (text: Text): Buffer => ('text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64'))
const toText = (text: Text): string => ('text' in text ? text.text : toBytes(text).toString())

/** What follows the text of a line with one match of plain characters, as most lines are. */
const PLAIN_MATCH =
  /^\},"line_number":(\d+),"absolute_offset":(\d+),"submatches":\[\{"match":\{"text":"([^"\\]*)"\},"start":(\d+),"end":(\d+)\}\]\}\}$/

/** The place of such a line: to find its figures takes half as long as to read it as JSON. */
function parsePlainMatch(line: Buffer): MatchPosition | undefined {
  const end = line.lastIndexOf(AFTER_TEXT)
  const [, number, offset, match, from, to] = PLAIN_MATCH.exec(line.toString('utf8', end)) ?? []
  if (match === undefined) return undefined
  const line_number = Number(number)
  const submatches = [{ start: Number(from), end: Number(to), text: match }]
  return { line_number, end_line_number: line_number, offset: Number(offset), submatches }
}

function toPosition({ data }: MatchEvent): MatchPosition {
  const first = data.submatches.length > MAX_SUBMATCHES ? data.submatches.slice(0, MAX_SUBMATCHES) : data.submatches
  const submatches = first.map(({ match, start, end }) => ({ start, end, text: toText(match) }))
  return { line_number: data.line_number, end_line_number: data.line_number, offset: data.absolute_offset, submatches }
}

/** One place for each match: where matches span lines, ripgrep joins those that touch the same lines. */
function toPositions({ data }: MatchEvent): MatchPosition[] {
  const bytes = toBytes(data.lines!)
  return data.submatches.map(({ match, start, end }) => {
    const before = bytes.subarray(0, start)
    const from = before.lastIndexOf(10) + 1
    const line_number = data.line_number + countNewlines(before)
    const inside = countNewlines(bytes.subarray(start, Math.max(start, end - 1)))
    const submatches = [{ start: start - from, end: end - from, text: toText(match) }]
    return { line_number, end_line_number: line_number + inside, offset: data.absolute_offset + from, submatches }
  })
}

function countNewlines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
