import { VtError } from '../../../core/shapes/index.js'
import { detectTextForm } from '../base/index.js'
import { findNearMatches, createReadCall } from '../files/index.js'
import { Lines } from './lines.js'
import { findAnchors, findHunkPlaces, type HunkPlace } from './match.js'
import type { Hunk, HunkLine } from './types.js'

/** Changes of the hunks of one section to a file. */
export interface PlacedHunks {
  spans: { start: number; end: number; by: Buffer }[]
  added: number
  removed: number
  /** Lines (1-based) where a hunk matched only in a looser pass. */
  fuzzy: { line: number; pass: number }[]
}

/** Places all hunks in the unchanged file. Throws VT_PATCH_CONTEXT, VT_PATCH_AMBIGUOUS, VT_PATCH_OVERLAP. */
export function placeHunks(path: string, bytes: Buffer, hunks: readonly Hunk[]): PlacedHunks {
  // The byte order mark belongs to the first line only for a patch that shows it there.
  const hasMark = hunks.some(({ lines }) => lines.some(({ text }) => text.startsWith('\uFEFF')))
  const bom = hasMark ? 0 : detectTextForm(bytes).bom
  const lines = new Lines(bytes.subarray(bom))
  const candidates = hunks.map((hunk, index) => {
    const places = findHunkPlaces(hunk, lines)
    if (places.length === 0) throw createContextError(path, bytes, hunk, index, lines)
    if (places.length > 1 && places[0]!.pass > 1) throw createAmbiguousError(path, index, places, lines)
    return places
  })
  const chosen = choosePlaces(path, candidates, lines)
  const order = chosen.map((place, index) => ({ place, hunk: hunks[index]! })).sort((a, b) => a.place.at - b.place.at)
  const placed: PlacedHunks = { spans: [], added: 0, removed: 0, fuzzy: [] }
  for (const { place, hunk } of order) {
    if (place.pass > 1) placed.fuzzy.push({ line: lines.number(place.at), pass: place.pass })
    renderHunk(placed, place, hunk, lines)
  }
  for (const span of placed.spans) {
    span.start += bom
    span.end += bom
  }
  return placed
}

/** Chooses the only way to place all hunks in order and without overlap. */
function choosePlaces(path: string, candidates: HunkPlace[][], lines: Lines): HunkPlace[] {
  const ways = countWays(candidates)
  const total = (ways[0] ?? []).reduce((sum, count) => sum + count, 0)
  if (total > 1) {
    const index = candidates.findIndex((places, at) => places.filter((_, other) => ways[at]![other]! > 0).length > 1)
    throw createAmbiguousError(path, index, candidates[index]!, lines)
  }
  if (total === 1) {
    const chosen: HunkPlace[] = []
    for (const [index, places] of candidates.entries())
      chosen.push(places.find(({ at }, other) => ways[index]![other]! > 0 && at >= (chosen.at(-1)?.end ?? 0))!)
    return chosen
  }
  const several = candidates.findIndex((places) => places.length > 1)
  if (several !== -1) throw createAmbiguousError(path, several, candidates[several]!, lines)
  const chosen = candidates.map(([only]) => only!)
  const sorted = [...chosen.entries()].sort(([, a], [, b]) => a.at - b.at || a.end - b.end)
  const clash = sorted.findIndex(([, place], index) => index > 0 && place.at < sorted[index - 1]![1].end)
  if (clash > 0)
    throw createOverlapError(
      path,
      [sorted[clash - 1]![0], sorted[clash]![0]].sort((a, b) => a - b),
      lines.number(sorted[clash]![1].at),
    )
  return chosen
}

/** Counts from the last hunk to the first in how many ways (0, 1, many) the remaining hunks can follow each place. */
function countWays(candidates: readonly HunkPlace[][]): number[][] {
  const ways: number[][] = []
  for (let index = candidates.length - 1; index >= 0; index--) {
    const next = candidates[index + 1]
    let [sum, other] = [0, next?.length ?? 0]
    // Places are sorted: a hunk that can follow a place can follow earlier ones too.
    ways[index] = candidates[index]!.map(() => 0)
    for (const [at, { end }] of [...candidates[index]!.entries()].reverse()) {
      while (next && other > 0 && next[other - 1]!.at >= end) sum = Math.min(2, sum + ways[index + 1]![--other]!)
      ways[index]![at] = next ? sum : 1
    }
  }
  return ways
}

function renderHunk(placed: PlacedHunks, place: HunkPlace, hunk: Hunk, lines: Lines): void {
  let [start, at] = [place.at, place.at]
  let by: HunkLine[] = []
  let gone = 0
  const flush = (final: boolean) => {
    if (at > start || by.length > 0)
      placed.spans.push(createSpan(lines, start, at, by, final && !endsWithLineEnd(hunk, at, lines)))
    placed.removed += gone
    placed.added += by.length
    by = []
    gone = 0
  }
  for (const line of place.lines) {
    if (line.kind === '+') by.push(line)
    else if (line.kind === '-') {
      at = lines.after(at)
      gone++
    } else {
      flush(false)
      start = at = lines.after(at)
    }
  }
  flush(true)
}

/** Returns whether a hunk that ends at `end` ends with a line end: as the patch says, or else as the file does. */
function endsWithLineEnd({ newline }: Hunk, end: number, lines: Lines): boolean {
  const isOpenEnd = lines.length > 0 && end === lines.length && lines.end(lines.back(end, 1)) === ''
  return newline ?? !isOpenEnd
}

/** Returns the replacement of the lines from `start` to `end`, with the line ends around them. */
function createSpan(
  lines: Lines,
  start: number,
  end: number,
  by: HunkLine[],
  open: boolean,
): PlacedHunks['spans'][number] {
  const before = lines.back(start, 1)
  const lineEnd = lines.end(before) || lines.end(start) || lines.end(end) || lines.usualEnd
  // A last line without an end gets one first.
  const unfinished = by.length > 0 && before !== undefined && lines.end(before) === ''
  const added = by.map((line) => line.text + (line.end ?? lineEnd)).join('')
  // Without a line end, a carriage return that the patch gives is part of the last line.
  const ended = open ? added.slice(0, by.at(-1)?.end === undefined ? -lineEnd.length : -1) : added
  const text = (unfinished ? lineEnd : '') + ended
  return { start, end, by: Buffer.from(text, 'latin1') }
}

function createContextError(path: string, bytes: Buffer, hunk: Hunk, index: number, lines: Lines): VtError {
  const anchor =
    findAnchors(hunk, lines)?.length === 0
      ? (hunk.anchors.find((one) => findAnchors({ anchors: [one] }, lines)?.length === 0) ?? hunk.anchors[0]!)
      : undefined
  const expected =
    anchor ??
    hunk.lines
      .filter(({ kind }) => kind !== '+')
      .map(({ text }) => text)
      .join('\n')
  const near = findNearMatches(bytes.toString(), expected)
  const [best] = near
  const nearest = best ? `; nearest is line ${best.line_number}: ${quote(best.text)}` : ''
  const message =
    anchor !== undefined
      ? `The anchor ${quote(anchor)} of hunk ${index + 1} is no line of '${path}'${nearest}.`
      : `The old lines of hunk ${index + 1} (line ${hunk.line} of the patch) do not occur in '${path}'; ` +
        `they begin with ${quote(expected)}.`
  const offset_lines = best ? Math.max(1, best.line_number - 10) : 1
  const next = createReadCall(
    path,
    best ? { offset_lines, page_size_lines: best.end_line + 10 - offset_lines + 1 } : {},
  )
  return new VtError({
    code: 'VT_PATCH_CONTEXT',
    message,
    hint: 'Read the place again and write the hunk from the fresh lines.',
    retryable: false,
    details: { path, hunk: index, expected, near },
    next,
  })
}

function createAmbiguousError(path: string, index: number, places: HunkPlace[], lines: Lines): VtError {
  const line_numbers = places.slice(0, 20).map(({ at }) => lines.number(at))
  const some = line_numbers.slice(0, 5).join(', ')
  const message = `Hunk ${index + 1} fits in ${places.length} places of '${path}': lines ${some}.`
  const first = Math.max(1, line_numbers[0]! - 3)
  const next = createReadCall(path, {
    offset_lines: first,
    page_size_lines: Math.min(200, (line_numbers[1] ?? first) + 4 - first),
  })
  return new VtError({
    code: 'VT_PATCH_AMBIGUOUS',
    message,
    hint: 'Give more context lines, or an anchor: `@@ a line before the place`.',
    retryable: false,
    details: { path, hunk: index, line_numbers },
    next,
  })
}

const createOverlapError = (path: string, hunks: number[], line: number): VtError =>
  new VtError({
    code: 'VT_PATCH_OVERLAP',
    message: `Hunks ${hunks.map((index) => index + 1).join(' and ')} overlap in '${path}' at line ${line}.`,
    hint: 'Join them into one hunk.',
    retryable: false,
    details: { path, hunks },
  })

const quote = (text: string): string => {
  const line = text.split('\n')[0]!
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line)
}
