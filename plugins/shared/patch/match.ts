import { fold } from '../fold.js'
import { asBytes, type Lines } from './lines.js'
import type { Hunk, Line } from './types.js'

/** A place where the old lines of a hunk could stand: the 0-based line they begin at and the one behind them. */
export interface Place {
  at: number
  end: number
  /** 1 exact, 2 white space at the end aside, 3 indentation aside too, 4 typography aside too. */
  pass: number
  /** The lines of the hunk as they apply there, in bytes. */
  lines: Line[]
}

const trimEnd = (text: string): string => text.replace(/[ \t\r\f\v]+$/, '')
const trim = (text: string): string => trimEnd(text).replace(/^[ \t\f\v]+/, '')
const folded = (text: string): string =>
  trim(/[\x80-\xff]/.test(text) ? Buffer.from(fold(Buffer.from(text, 'latin1').toString())).toString('latin1') : text)
const passes: ((text: string) => string)[] = [(text) => text, trimEnd, trim, folded]

/** Every place a hunk could go to by the strictest pass that finds one; anchors, the end of the file and the hint narrow them down. */
export function placesOf(hunk: Hunk, lines: Lines, hunted: Hunted): Place[] {
  const own = hunk.lines.map(({ kind, text }) => ({ kind, text: asBytes(text) }))
  if (!own.some(({ kind }) => kind !== '+')) return insertion(hunk, own, lines, hunted)
  const found = search(hunk, own, lines, hunted)
  if (found.length > 0) return found
  const shorter = withoutTrailingBlank(own)
  return shorter.length < own.length && shorter.some(({ kind }) => kind !== '+') ? search(hunk, shorter, lines, hunted) : []
}

/** The lines of a file as each pass sees them, worked out once when first needed. */
export class Hunted {
  private readonly seen: (string[] | undefined)[] = []
  constructor(private readonly lines: Lines) {}

  texts(pass: number): string[] {
    return (this.seen[pass] ??= pass === 1 ? this.lines.texts : this.lines.texts.map(passes[pass - 1]!))
  }
  /** Where a line stands. */
  at(pass: number, text: string): number[] {
    const texts = this.texts(pass)
    const found: number[] = []
    for (let at = texts.indexOf(text); at !== -1; at = texts.indexOf(text, at + 1)) found.push(at)
    return found
  }
}

/** Lines behind which a hunk goes by its anchors, `undefined` without any; empty if an anchor is missing. */
export function anchored({ anchors }: Hunk, hunted: Hunted): number[] | undefined {
  if (anchors.length === 0) return undefined
  for (let pass = 1; pass <= passes.length; pass++) {
    const [first, ...rest] = anchors.map((anchor) => passes[pass - 1]!(asBytes(anchor)))
    const ends = hunted
      .at(pass, first!)
      .map((start) =>
        rest.reduce<number | undefined>((at, anchor) => (at === undefined ? at : hunted.at(pass, anchor).find((next) => next > at)), start),
      )
    const found = [...new Set(ends.filter((end) => end !== undefined))]
    if (found.length > 0) return found
  }
  return []
}

function search(hunk: Hunk, own: Line[], lines: Lines, hunted: Hunted): Place[] {
  const block = own.filter(({ kind }) => kind !== '+').map(({ text }) => text)
  for (let pass = 1; pass <= passes.length; pass++) {
    const wanted = block.map(passes[pass - 1]!)
    const texts = hunted.texts(pass)
    // The longest line stands in the fewest places.
    const rare = wanted.reduce((best, text, index) => (text.length > wanted[best]!.length ? index : best), 0)
    const starts = hunted.at(pass, wanted[rare]!).map((at) => at - rare)
    const matching = starts.filter((at) => at >= 0 && wanted.every((text, index) => texts[at + index] === text))
    const places = matching.flatMap((at) => {
      const shifted = pass < 3 ? own : reindented(own, block, lines.texts.slice(at, at + block.length))
      return shifted ? [{ at, end: at + block.length, pass, lines: shifted }] : []
    })
    const narrowed = narrow(places, hunk, lines, hunted)
    if (narrowed.length > 0) return narrowed
  }
  return []
}

function narrow(places: Place[], hunk: Hunk, lines: Lines, hunted: Hunted): Place[] {
  const behind = anchored(hunk, hunted)
  let left = behind
    ? [...new Set(behind.map((anchor) => places.find(({ at }) => at >= anchor)).filter((place) => place !== undefined))]
    : places
  if (hunk.atEnd) left = left.filter(({ end }) => end === lines.texts.length)
  const { hint } = hunk
  if (hint === undefined || left.length < 2) return left
  const distance = ({ at }: Place) => Math.abs(at - (hint - 1))
  const [nearest, next] = left.toSorted((a, b) => distance(a) - distance(b)) as [Place, Place]
  return distance(nearest) < distance(next) ? [nearest] : left
}

function insertion(hunk: Hunk, own: Line[], { texts }: Lines, hunted: Hunted): Place[] {
  const here = (at: number): Place => ({ at, end: at, pass: 1, lines: own })
  const behind = anchored(hunk, hunted)
  if (behind) return behind.map((anchor) => here(anchor + 1))
  return [here(hunk.hint === undefined ? texts.length : Math.max(0, Math.min(hunk.hint - 1, texts.length)))]
}

/** The lines with the indentation of the file, if it differs by one and the same piece everywhere. */
function reindented(own: Line[], block: string[], found: string[]): Line[] | undefined {
  const indent = (text: string) => /^[ \t]*/.exec(text)![0]
  let change: { add: string; drop: string } | undefined
  for (const [index, text] of block.entries()) {
    if (trim(text) === '') continue
    const [ours, theirs] = [indent(text), indent(found[index]!)]
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

function withoutTrailingBlank(lines: Line[]): Line[] {
  let end = lines.length
  while (end > 0 && lines[end - 1]!.kind === ' ' && trim(lines[end - 1]!.text) === '') end--
  return lines.slice(0, end)
}
