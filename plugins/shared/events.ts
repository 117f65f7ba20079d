/** ripgrep's `--json` events, read as they come. */
import { isUtf8 } from 'node:buffer'
import { codePoints, excerpt } from './excerpt.js'
import { pathKey } from './order.js'
import { chomp } from './source.js'

/** One matching line, or the lines of one match that spans several. Offsets are bytes as engines count them. */
export interface Hit {
  line_number: number
  end_line_number: number
  /** Where the line starts in the file. */
  offset: number
  /** Where it ends, its terminator included; absent if it is too long to be read whole. */
  end?: number
  /** Bytes of the file that have to stand at `at` for the hit to be believed. */
  seen: { at: number; bytes: Buffer }
  submatches: { text: string; start: number; end: number }[]
  /** 1-based code point of the first submatch; absent with `end`. */
  column?: number
  /** Around the first submatch; absent with `end`. */
  excerpt?: { text: string; cut: boolean }
  lossy: boolean
}
export interface FileHits {
  file: string
  count: number
  hits: Hit[]
}

export const longestText = 500
/** Longer events are digested at once, so that many of them fit into memory. */
const longEvent = 16_384
const mostSubmatches = 100
/** Bytes around the first submatch that are compared with the file. */
const window = 4096

/** Counts all matches and keeps the first `limit` hits in path order. */
export class Events {
  total = 0
  /** Files ripgrep looked into; known when it has ended by itself. */
  searched = 0
  /** The file that was named is binary. */
  binary = false
  private files: { file: string; key: string; count: number; hits: (Buffer | Hit)[] }[] = []
  private current: (typeof this.files)[number] | undefined
  private kept = 0
  /** Files from here on can no longer be among the first. */
  private cutoff: string | undefined

  constructor(
    private readonly limit: { hits: number; per_file: number },
    private readonly named: boolean,
    private readonly nameOf: (name: Buffer) => string,
    private readonly counts: (file: string) => boolean,
  ) {}

  /** Takes one line. Tells the kinds apart by a byte each: parsing every line would cost more than the search itself. */
  take(line: Buffer): void {
    if (line[2] === 0x64) this.summary(line)
    else if (line[9] === 0x62) this.begin(line)
    else if (line[9] === 0x6d) this.match(line)
    else if (line[9] === 0x65) this.end(line)
  }

  /** What was found so far, in path order; only the first files still hold hits. */
  result(): FileHits[] {
    if (this.current) this.close(false)
    this.prune()
    return this.files.map(({ file, count, hits }) => ({ file, count, hits: hits.map((hit) => (Buffer.isBuffer(hit) ? digest(hit)! : hit)) }))
  }

  private begin(line: Buffer): void {
    const { data } = JSON.parse(line.toString()) as { data: { path: Text } }
    const file = this.nameOf(bytesOf(data.path))
    this.current = this.counts(file) ? { file, key: pathKey(file), count: 0, hits: [] } : undefined
  }

  private match(line: Buffer): void {
    const { current } = this
    if (!current) return
    if (current.hits.length < this.limit.per_file && (this.cutoff === undefined || current.key < this.cutoff)) {
      const hit = line.length > longEvent ? digest(line) : Buffer.from(line)
      if (!hit) return
      current.hits.push(hit)
    }
    current.count++
    this.total++
  }

  private end(line: Buffer): void {
    const [, at] = /"binary_offset":(\d+)/.exec(line.toString()) ?? []
    this.close(at !== undefined && (this.named || Number(at) < 8192))
  }

  private summary(line: Buffer): void {
    this.searched = (JSON.parse(line.toString()) as { data: { stats: { searches: number } } }).data.stats.searches
  }

  private close(binary: boolean): void {
    const { current } = this
    this.current = undefined
    if (!current || current.count === 0) return
    if (binary && !this.named) this.total -= current.count
    else {
      this.binary = binary
      this.files.push(binary ? { ...current, hits: [] } : current)
      this.kept += current.hits.length
    }
    if (this.kept > 2 * this.limit.hits + 1000) this.prune()
  }

  private prune(): void {
    this.files.sort((a, b) => (a.key < b.key ? -1 : 1))
    this.kept = 0
    let full = false
    for (const file of this.files) {
      if (full) file.hits = []
      this.kept += file.hits.length
      if (full || this.kept < this.limit.hits) continue
      full = true
      this.cutoff = file.key
    }
  }
}

type Text = { text: string } | { bytes: string }
interface MatchEvent {
  data: { lines: Text; line_number: number; absolute_offset: number; submatches: { match: Text; start: number; end: number }[] }
}

const bytesOf = (text: Text): Buffer => ('text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64'))

/** A match event as a hit; `undefined` if even its positions were too long to be kept. */
function digest(event: Buffer): Hit | undefined {
  const parsed = parse(event)
  if (!parsed) return undefined
  const { line_number, absolute_offset: offset } = parsed.data
  const submatches = parsed.data.submatches.slice(0, mostSubmatches).map(({ match, start, end }) => ({ match: bytesOf(match), start, end }))
  const first = submatches[0] ?? { match: Buffer.alloc(0), start: 0, end: 0 }
  const common = { line_number, offset, submatches: submatches.map(({ match, start, end }) => ({ text: match.toString(), start, end })) }
  if (parsed.cut) {
    const seen = { at: offset + first.start, bytes: first.match.subarray(0, window) }
    return { ...common, end_line_number: line_number, seen, lossy: false }
  }
  const line = bytesOf(parsed.data.lines)
  const text = chomp(line)
  const from = Math.max(0, first.start - window)
  return {
    ...common,
    end_line_number: line_number + newlines(text),
    end: offset + line.length,
    seen: { at: offset + from, bytes: Buffer.from(line.subarray(from, first.start + window)) },
    column: codePoints(line.subarray(0, first.start)) + 1,
    excerpt: excerpt(text, first.start, longestText),
    lossy: !isUtf8(text),
  }
}

function parse(event: Buffer): (MatchEvent & { cut?: true }) | undefined {
  try {
    return JSON.parse(event.toString()) as MatchEvent
  } catch {
    // The middle of a long line is missing. Inside JSON text quotes are escaped, so this is where the line itself ends.
    const end = event.lastIndexOf('"},"line_number":')
    if (end < 0) return undefined
    return { ...(JSON.parse(`{"data":{"lines":{"text":"${event.toString('utf8', end)}`) as MatchEvent), cut: true }
  }
}

function newlines(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}
