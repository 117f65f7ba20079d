import {
  foldTypography,
  hasEscape,
  matchShownLine,
  restoreCharacters,
  trimEndChars,
  type ShownEscape,
} from '../base/index.js'
import { toByteText, type Lines } from './lines.js'
import type { Hunk, HunkLine } from './types.js'

/** A place that matches the old lines of a hunk: the offset of the first line and the end of the last line. */
export interface HunkPlace {
  at: number
  end: number
  /** 1 exact, 2 ignores white space at the end, 3 also indentation, 4 also typography. */
  pass: number
  /** Lines of the hunk as they apply there, in bytes. */
  lines: HunkLine[]
}

const trimEnd = (text: string): string => trimEndChars(text, ' \t\r\f\v')
const trim = (text: string): string => trimEnd(text).replace(/^[ \t\f\v]+/, '')
const foldLine = (text: string): string =>
  trim(
    /[\x80-\xff]/.test(text)
      ? Buffer.from(foldTypography(Buffer.from(text, 'latin1').toString())).toString('latin1')
      : text,
  )
const passes: ((text: string) => string)[] = [(text) => text, trimEnd, trim, foldLine]

/**
 * Finds all places of a hunk with the strictest pass that matches. Anchors, the end of the file and the hint narrow the
 * result.
 */
export function findHunkPlaces(hunk: Hunk, lines: Lines): HunkPlace[] {
  const own = hunk.lines.map((line) => ({ ...line, text: toByteText(line.text, line.isUnended) }))
  if (!own.some(({ kind }) => kind !== '+')) return findInsertion(hunk, own, lines)
  const found = searchPlaces(hunk, own, lines)
  if (found.length > 0) return found
  const shorter = dropTrailingBlank(own)
  return shorter.length < own.length && shorter.some(({ kind }) => kind !== '+')
    ? searchPlaces(hunk, shorter, lines)
    : []
}

/** Yields the places of a block of lines in one pass. */
function* findOccurrences(
  block: readonly string[],
  pass: number,
  lines: Lines,
): Generator<{ at: number; end: number }> {
  const seen = passes[pass - 1]!
  const wanted = block.map(seen)
  // Searches for the longest line, which has the fewest matches; without white space at its ends it occurs literally.
  const rare = wanted.reduce((best, text, index) => (text.length > wanted[best]!.length ? index : best), 0)
  const found = pass < passes.length && wanted[rare] !== '' ? lines.findHolding(wanted[rare]!) : lines.all()
  for (const line of found) {
    const at = lines.back(line, rare)
    const end = at !== undefined && matchBlock(at, wanted, seen, lines)
    if (end) yield { at, end }
  }
}

/** Returns the end of the lines that begin at `at` if they match the wanted ones. */
function matchBlock(
  at: number,
  wanted: readonly string[],
  seen: (text: string) => string,
  lines: Lines,
): number | undefined {
  for (const text of wanted) {
    if (at >= lines.length || seen(lines.text(at)) !== text) return undefined
    at = lines.after(at)
  }
  return at
}

/**
 * Returns the lines after which a hunk may apply by its anchors; `undefined` without anchors, empty if an anchor is
 * missing.
 */
export function findAnchors({ anchors }: Pick<Hunk, 'anchors'>, lines: Lines): number[] | undefined {
  if (anchors.length === 0) return undefined
  for (let pass = 1; pass <= passes.length; pass++) {
    const [first, ...rest] = anchors.map((anchor) =>
      [...findOccurrences([toByteText(anchor)], pass, lines)].map(({ at }) => at),
    )
    const ends = first!.map((start) =>
      rest.reduce<number | undefined>(
        (at, places) => (at === undefined ? at : places.find((next) => next > at)),
        start,
      ),
    )
    const found = [...new Set(ends.filter((end) => end !== undefined))]
    if (found.length > 0) return found
  }
  return []
}

function searchPlaces(hunk: Hunk, own: HunkLine[], lines: Lines): HunkPlace[] {
  const block = own.filter(({ kind }) => kind !== '+').map(({ text }) => text)
  for (let pass = 1; pass <= passes.length; pass++) {
    const places: HunkPlace[] = []
    for (const { at, end } of findOccurrences(block, pass, lines)) {
      const shifted = pass < 3 ? own : reindent(own, block, at, lines)
      if (shifted) places.push({ at, end, pass, lines: shifted })
    }
    const narrowed = narrowPlaces(places, hunk, lines)
    if (narrowed.length > 0) return narrowed
    const shown =
      pass === 1 && block.some(hasEscape) ? narrowPlaces(findShownPlaces(own, block, lines), hunk, lines) : []
    if (shown.length > 0) return shown
  }
  return []
}

/** Finds the places of old lines in which escapes such as `\u{200f}` are characters of the file. */
function findShownPlaces(own: HunkLine[], block: readonly string[], lines: Lines): HunkPlace[] {
  const found: HunkPlace[] = []
  for (const at of lines.all()) {
    const escapes: ShownEscape[] = []
    let end = at
    const isEqual = block.every((text) => {
      const matched = end < lines.length ? matchShownLine(lines.text(end), text) : undefined
      if (matched) escapes.push(...matched)
      end = lines.after(end)
      return matched !== undefined
    })
    if (!isEqual) continue
    const restored = own.map((line) =>
      line.kind === '+' ? { ...line, text: restoreCharacters(line.text, escapes) } : line,
    )
    found.push({ at, end, pass: 1, lines: restored })
  }
  return found
}

function narrowPlaces(places: HunkPlace[], hunk: Hunk, lines: Lines): HunkPlace[] {
  const anchorLines = findAnchors(hunk, lines)
  let left = anchorLines
    ? [
        ...new Set(
          anchorLines.map((anchor) => places.find(({ at }) => at >= anchor)).filter((place) => place !== undefined),
        ),
      ]
    : places
  if (hunk.atEnd) left = left.filter(({ end }) => end === lines.length)
  if (hunk.hint === undefined || left.length < 2) return left
  const expected = lines.skip(0, hunk.hint - 1)
  const [under, over] = [left.findLast(({ at }) => at <= expected), left.find(({ at }) => at > expected)]
  if (!under || !over) return [(under ?? over)!]
  const middle = lines.number(expected)
  const nearer = middle - lines.number(under.at) - (lines.number(over.at) - middle)
  return nearer === 0 ? left : [nearer < 0 ? under : over]
}

function findInsertion(hunk: Hunk, own: HunkLine[], lines: Lines): HunkPlace[] {
  const here = (at: number): HunkPlace => ({ at, end: at, pass: 1, lines: own })
  const anchorLines = findAnchors(hunk, lines)
  if (anchorLines) return anchorLines.map((anchor) => here(lines.after(anchor)))
  return [here(hunk.hint === undefined ? lines.length : lines.skip(0, hunk.hint - 1))]
}

/** Returns the lines with the indentation of the file, if the difference is equal for all lines. */
function reindent(own: HunkLine[], block: string[], at: number, lines: Lines): HunkLine[] | undefined {
  const indent = (text: string) => /^[ \t]*/.exec(text)![0]
  let change: { add: string; drop: string } | undefined
  for (const text of block) {
    const found = lines.text(at)
    at = lines.after(at)
    if (trim(text) === '') continue
    const [ours, theirs] = [indent(text), indent(found)]
    const own = theirs.endsWith(ours)
      ? { add: theirs.slice(0, theirs.length - ours.length), drop: '' }
      : ours.endsWith(theirs)
        ? { add: '', drop: ours.slice(0, ours.length - theirs.length) }
        : undefined
    if (!own || (change && (change.add !== own.add || change.drop !== own.drop))) return undefined
    change = own
  }
  if (!change) return own
  const { add, drop } = change
  return own.map((line) =>
    line.kind !== '+' || trim(line.text) === ''
      ? line
      : { ...line, text: add + (line.text.startsWith(drop) ? line.text.slice(drop.length) : line.text) },
  )
}

function dropTrailingBlank(lines: HunkLine[]): HunkLine[] {
  let end = lines.length
  while (end > 0 && lines[end - 1]!.kind === ' ' && trim(lines[end - 1]!.text) === '') end--
  return lines.slice(0, end)
}
