import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { createSlotError } from '../base/index.js'
import { createLineReader } from '../process/index.js'
import { runRipgrep } from './ripgrep.js'
import { createEventReader, type MatchPosition } from './ripgrep_events.js'
import { toRipgrepFlags, canSpanLines, type Pattern } from './pattern.js'
import type { TextSource } from './text_source.js'

/** An open file and the range of its matches that is wanted. */
export interface WantedMatches {
  handle: Handle
  source: TextSource
  /** Matches that the search counted in the file. */
  count: number
  /** Matches to skip, then the number of matches wanted. */
  skip: number
  limit: number
}

const TIMEOUT_SECONDS = 20
/** For larger input the engine is faster than this process, its start included. */
const MAX_SCAN_BYTES = 1_048_576
/** In a larger file the engine may need longer to print a line than this process to find it. */
const HUGE_FILE_BYTES = 67_108_864
const MAX_SUBMATCHES = 100
/** Bytes of text kept of all matches of one line. */
const MAX_TEXT_BYTES = 131_072
/** Memory limit of the engine for the matches of one line of a huge file. */
const BURDEN = { read: Infinity, resident: 268_435_456 }

/** Finds the wanted matches of each file. Returns `undefined` when ripgrep cannot be started. */
export async function findMatchPositions(
  context: Context,
  pattern: Pattern,
  files: WantedMatches[],
): Promise<MatchPosition[][] | undefined> {
  const size = files.reduce((sum, { source }) => sum + source.bytes, 0)
  const plain = toPlainText(pattern)
  const found = new Map<WantedMatches, MatchPosition[]>()
  const huge = canSpanLines(pattern) ? [] : files.filter(({ source }) => source.bytes > HUGE_FILE_BYTES)
  for (const file of huge) {
    const places = await findBareMatches(context, pattern, file)
    if (!places) return undefined
    if (places !== 'too many') found.set(file, places)
  }
  for (const file of plain
    ? files.filter((file) => !found.has(file) && (size <= MAX_SCAN_BYTES || huge.includes(file)))
    : []) {
    const { count, places } = await findOccurrences(context, plain!, file)
    if (plain!.exact || count === file.count) found.set(file, places)
  }
  const lost = huge.find((file) => !found.has(file))
  if (lost) throw tooMany(lost.handle.path)
  const others = files.filter((file) => !found.has(file))
  const asked = others.length > 0 ? await findByRipgrep(context, pattern, others) : []
  if (!asked) return undefined
  for (const [at, file] of others.entries()) found.set(file, await findMoreMatches(context, pattern, file, asked[at]!))
  return files.map((file) => found.get(file)!)
}

/** Asks for the matches without their lines where the engine printed too few: a line may be too long to keep. */
async function findMoreMatches(context: Context, pattern: Pattern, file: WantedMatches, places: MatchPosition[]) {
  if (places.length >= file.limit || canSpanLines(pattern)) return places
  const alone = await findBareMatches(context, pattern, file)
  if (alone === 'too many') throw tooMany(file.handle.path)
  return alone && alone.length > places.length ? alone : places
}

/** Returns the pattern as plain text, which this process finds without starting a program. */
function toPlainText({ patterns, literal, case_sensitive }: Pattern): PlainText | undefined {
  const [text = '', ...others] = patterns
  if (others.length > 0 || text.includes('\n') || (!literal && /[\\^$.|?*+()[\]{}]/.test(text))) return undefined
  const fold = !(case_sensitive ?? text !== text.toLowerCase())
  // Beyond ASCII the engine folds more letters than this process does, so the counts must agree.
  return fold
    ? { text: text.toLowerCase(), fold, exact: /^[^ks\u0080-\uffff]*$/i.test(text) }
    : { text, fold, exact: true }
}

interface PlainText {
  text: string
  /** ASCII letters match in either case. */
  fold: boolean
  /** Finds the same matches as the engine in any file. */
  exact: boolean
}

const STEP_BYTES = 4_194_304

/** Counts the lines that hold a text and returns the wanted ones. An exact search stops after the last wanted line. */
async function findOccurrences(
  context: Context,
  { text, fold, exact }: PlainText,
  { source, skip, limit }: WantedMatches,
) {
  const needle = Buffer.from(text)
  const places: MatchPosition[] = []
  let count = 0
  let line = 1
  let start = 0
  let current: MatchPosition | undefined
  for (let at = 0; at < source.bytes; at += STEP_BYTES) {
    context.signal.throwIfAborted()
    // The overlap finds matches across the border; one that starts in it belongs to the next step.
    const raw = await source.read(at, STEP_BYTES + needle.length - 1)
    const bytes = fold ? toLowerAscii(raw) : raw
    const end = Math.min(STEP_BYTES, bytes.length)
    let newline = bytes.indexOf(10)
    const advanceTo = (limit: number) => {
      for (; newline >= 0 && newline < limit; newline = bytes.indexOf(10, newline + 1)) {
        line++
        start = at + newline + 1
      }
    }
    for (let from = 0; ;) {
      const hit = bytes.indexOf(needle, from)
      if (hit < 0 || hit >= end) break
      advanceTo(hit)
      from = hit + needle.length
      if (current?.line_number !== line) {
        if (exact && places.length === limit) return { places, count }
        current = { line_number: line, end_line_number: line, offset: start, submatches: [] }
        if (count++ >= skip && places.length < limit) places.push(current)
      }
      const column = at + hit - start
      if (current.submatches.length < MAX_SUBMATCHES) {
        current.submatches.push({
          start: column,
          end: column + needle.length,
          text: raw.toString('utf8', hit, hit + needle.length),
        })
        continue
      }
      // More matches of this line are not kept.
      from = bytes.indexOf(10, hit)
      if (from < 0) break
    }
    advanceTo(end)
    if (exact && places.length === limit && line > places[limit - 1]!.line_number) break
  }
  return { places, count }
}

/** Returns a copy with ASCII letters in lower case. */
function toLowerAscii(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  for (let at = 0; at < copy.length; at++) {
    const byte = copy[at]!
    if (byte >= 65 && byte <= 90) copy[at] = byte | 32
  }
  return copy
}

/** Finds the matches by ripgrep, reading its output as a stream. */
async function findByRipgrep(
  context: Context,
  pattern: Pattern,
  files: WantedMatches[],
): Promise<MatchPosition[][] | undefined> {
  const byRef = new Map(
    files.map(({ handle, skip, limit }) => [handle.ref, { skip, limit, places: [] as MatchPosition[] }]),
  )
  const several = canSpanLines(pattern)
  let current: { skip: number; limit: number; places: MatchPosition[] } | undefined
  let whole = false
  const take = createEventReader(several, {
    onFile: (name) => (current = byRef.get(name.toString())) !== undefined,
    onMatch(places) {
      if (!current || current.places.length >= current.limit) return 'next file'
      for (const place of places())
        if (current.skip-- <= 0 && current.places.length < current.limit) current.places.push(place)
      return undefined
    },
    onSearched: () => (whole = true),
  })
  const refs = files.map(({ handle }) => handle.ref)
  // If each match is one line, the search can stop after the last wanted one.
  const enough = several ? [] : ['--max-count', String(Math.max(...files.map(({ skip, limit }) => skip + limit)))]
  const asked = await runRipgrep(
    'named files',
    ['--json', '--text', ...enough, ...toRipgrepFlags(pattern), '--', ...refs],
    { signal: context.signal, seconds: TIMEOUT_SECONDS },
    take,
  )
  if (asked?.timed_out) throw tooSlow()
  return asked && whole ? files.map(({ handle }) => byRef.get(handle.ref)!.places) : undefined
}

/** Finds the matches in a huge file without their lines. Returns `too many` where the engine exceeds its memory. */
async function findBareMatches(
  context: Context,
  pattern: Pattern,
  { handle, skip, limit }: WantedMatches,
): Promise<MatchPosition[] | 'too many' | undefined> {
  const places: MatchPosition[] = []
  const most = skip + limit
  let room = MAX_TEXT_BYTES
  const rows = createLineReader((row) => {
    const [head = '', line_number, column, offset] = /^(\d+):(\d+):(\d+):/.exec(row.toString('latin1', 0, 64)) ?? []
    const [line, start] = [Number(line_number), Number(column) - 1]
    if (places.at(-1)?.line_number !== line) {
      places.push({ line_number: line, end_line_number: line, offset: Number(offset) - start, submatches: [] })
      room = MAX_TEXT_BYTES
    }
    const { submatches } = places.at(-1)!
    // A match printed without its line ends with CR where the line does.
    const match = row.subarray(head.length, row.at(-1) === 13 ? -1 : undefined)
    if (submatches.length < MAX_SUBMATCHES) {
      submatches.push({ start, end: start + match.length, text: match.toString('utf8', 0, room) })
      room -= Math.min(room, match.length)
    }
    // More matches of the last line are not kept.
    return places.length === most && submatches.length === MAX_SUBMATCHES ? false : undefined
  })
  const how = [
    '--text',
    '--only-matching',
    '--line-number',
    '--column',
    '--byte-offset',
    '--no-filename',
    '--max-count',
    String(most),
  ]
  const asked = await runRipgrep(
    'named files',
    [...how, ...toRipgrepFlags(pattern), '--', handle.ref],
    { signal: context.signal, seconds: TIMEOUT_SECONDS, maxUsage: BURDEN },
    rows.take,
  )
  if (asked?.timed_out) throw tooSlow()
  if (asked?.overLimit) return 'too many'
  return asked && places.slice(skip)
}

const tooMany = (path: string) =>
  createSlotError('VT_INPUT_TOO_LARGE', `A line of '${path}' has more matches than fit in memory.`, {
    hint: 'Use a pattern that matches fewer times in a line.',
  })
const tooSlow = () =>
  createSlotError('VT_SEARCH_TIMEOUT', `Not all matches could be shown within ${TIMEOUT_SECONDS} s.`, {
    retryable: true,
  })

/** Returns whether an open file still holds these bytes at the position of the match. */
export async function isMatchUnchanged(source: TextSource, { offset, submatches }: MatchPosition): Promise<boolean> {
  if (offset > 0 && (await source.read(offset - 1, 1))[0] !== 10) return false
  for (const { start, end, text } of submatches) {
    if ((await source.read(offset + start, end - start)).toString() !== text) return false
  }
  return true
}
