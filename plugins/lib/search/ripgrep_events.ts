import { createLineReader, type Consumer } from '../process/index.js'
import { EngineFault } from './ripgrep.js'

/** One matching line, or one match that spans several. Offsets are bytes as the engine counts them. */
export interface MatchPosition {
  line_number: number
  end_line_number: number
  /** Start of the first line in the file. */
  offset: number
  /** Bytes from the start of the line. */
  submatches: { start: number; end: number; text: string }[]
}
/** Reads the positions of one event; none if the event was too long to keep. */
export type ReadPositions = () => MatchPosition[]
export interface RipgrepListener {
  /** Returns whether the matches of a file are wanted; otherwise only their number is. */
  onFile(name: Buffer): boolean
  /**
   * Receives one event of the current file, to be parsed when needed. Return `next file` to skip the rest of this file,
   * `false` to end the search.
   */
  onMatch(places: ReadPositions): void | 'next file' | false
  /** Receives the totals at the end of a file. Return `false` to end the search. */
  onEnd?(lines: number, matches: number): void | false
  /** Receives the totals at the end of a whole answer. */
  onSearched(files: number, bytes: number): void
}

const MAX_SUBMATCHES = 100
/** A longer event is dropped. */
const MAX_EVENT_BYTES = 65_536
/** Limit where matches may span lines. */
const MAX_MULTILINE_EVENT_BYTES = 1_048_576

const BEGIN = Buffer.from('{"type":"begin","data":{"path":{"text":"')
const END = '{"type":"end"'

/**
 * Creates a consumer that passes each event to the listener. `several`: a match may span lines. The consumer throws
 * EngineFault for a line that is no event.
 */
export function createEventReader(several: boolean, listener: RipgrepListener): Consumer {
  return createLineReader((line) => {
    // One byte distinguishes the event types `{"type":"begin"`, `{"type":"match"` and so on.
    const type = line[2] === 0x74 && line[8] === 0x22 ? line[9] : undefined
    if (type === 0x62) return listener.onFile(readName(line)) ? undefined : END
    if (type === 0x6d) {
      const wanted = listener.onMatch(deferPositions(line, several))
      return wanted === 'next file' ? END : wanted
    }
    if (type === 0x65) {
      const [, matching, matches] =
        /"matched_lines":(\d+),"matches":(\d+)\}\}\}$/.exec(line.toString('latin1', Math.max(0, line.length - 80))) ??
        []
      return listener.onEnd?.(Number(matching), Number(matches))
    }
    if (line.length > 0) {
      const { stats } = parseEvent<Summary>(line.toString()).data
      if (!stats) throw new EngineFault('the engine prints no totals')
      listener.onSearched(stats.searches, stats.bytes_searched)
    }
    return undefined
  }).take
}

function parseEvent<T extends { data: unknown }>(text: string): T {
  try {
    const event = JSON.parse(text) as Partial<T> | null
    if (event?.data) return event as T
  } catch {
    // The fault below says it.
  }
  throw new EngineFault('the engine prints no events')
}

function readName(line: Buffer): Buffer {
  const plain = line.subarray(0, BEGIN.length).equals(BEGIN) && !line.includes(0x5c)
  return plain
    ? Buffer.from(line.subarray(BEGIN.length, -4))
    : toBytes(parseEvent<BeginEvent>(line.toString()).data.path)
}

/** Returns a reader that keeps only the needed part of an event: for a one-line match, the part after its text. */
function deferPositions(line: Buffer, several: boolean): ReadPositions {
  const plain = several ? undefined : parsePlainMatch(line)
  if (plain) return () => [plain]
  const from = several ? 0 : line.lastIndexOf(AFTER_TEXT) + 2
  const isLong = line.length - from > (several ? MAX_MULTILINE_EVENT_BYTES : MAX_EVENT_BYTES)
  const text = isLong ? '' : several ? line.toString() : `{"data":{${line.toString('utf8', from)}`
  const event = () => parseEvent<MatchEvent>(text)
  return () => (text === '' ? [] : several ? toPositions(event()) : [toPosition(event())])
}

// Quotes inside JSON text are escaped, so the text of the lines ends here.
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
  data: { stats?: { searches: number; bytes_searched: number } }
}

const toBytes = (text: Text): Buffer => ('text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64'))
const toText = (text: Text): string => ('text' in text ? text.text : toBytes(text).toString())

/** Rest of an event with one match of plain characters, which most lines have. */
const PLAIN_MATCH = new RegExp(
  String.raw`^\},"line_number":(\d+),"absolute_offset":(\d+),"submatches":` +
    String.raw`\[\{"match":\{"text":"([^"\\]*)"\},"start":(\d+),"end":(\d+)\}\]\}\}$`,
)

/** Parses such an event without JSON, which takes half the time. */
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

/** Returns one position for each match: where matches span lines, ripgrep joins those that share lines. */
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
