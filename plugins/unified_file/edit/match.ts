import { findShown, toByteCharacters, type ShownPlace } from '../../lib/base/index.js'

/**
 * Finds every occurrence of `old`, overlapping ones included. If there is none, finds those of the shown text: with
 * other line ends, and with escapes for characters.
 */
export function findOccurrences(bytes: Buffer, old: string): ShownPlace[] {
  const wanted = Buffer.from(old)
  const exact: ShownPlace[] = []
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    // A carriage return before a line feed belongs to the line end.
    const start = wanted[0] === 10 && bytes[at - 1] === 13 ? at - 1 : at
    exact.push({ start, end: at + wanted.length, escapes: [] })
  }
  return exact.length > 0 || !/\n|\\u\{/.test(old) ? exact : findShown(bytes.toString('latin1'), toByteCharacters(old))
}

/** Drops occurrences that overlap an earlier one. */
export function dropOverlaps(places: readonly ShownPlace[]): ShownPlace[] {
  const kept: ShownPlace[] = []
  for (const place of places) if (place.start >= (kept.at(-1)?.end ?? 0)) kept.push(place)
  return kept
}

/** Converts `\n` of a text to the line ends of the file at `at`; keeps `\r\n`. */
export function convertLineEnds(text: string, bytes: Buffer, at: number): string {
  return /(?<!\r)\n/.test(text) && hasCrlfEnd(bytes, at) ? text.replace(/(?<!\r)\n/g, '\r\n') : text
}

/** Returns whether the line at `at` ends in CRLF; at the end of the file, the last line decides. */
function hasCrlfEnd(bytes: Buffer, at: number): boolean {
  if (!bytes.includes('\r\n')) return false
  const next = bytes.indexOf(10, at)
  const own = next !== -1 ? next : bytes.lastIndexOf(10)
  return bytes[own - 1] === 13
}
