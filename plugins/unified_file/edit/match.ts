/** Range of a text in a file, in bytes. */
export interface Span {
  start: number
  end: number
}

/**
 * Finds every occurrence of `old`, overlapping ones included; if there is none, those that differ only in `\r\n` for
 * `\n`.
 */
export function findOccurrences(bytes: Buffer, old: Buffer): Span[] {
  const exact: Span[] = []
  for (let at = bytes.indexOf(old); at !== -1; at = bytes.indexOf(old, at + 1))
    exact.push({ start: at, end: at + old.length })
  return exact.length > 0 || !old.includes(10) ? exact : findWithAnyLineEnds(bytes, splitLines(old))
}

/** Drops occurrences that overlap an earlier one. */
export function dropOverlaps(spans: readonly Span[]): Span[] {
  const kept: Span[] = []
  for (const span of spans) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span)
  return kept
}

/** Converts `\n` of a text to the line ends of the file at `at`; keeps `\r\n`. */
export function convertLineEnds(text: string, bytes: Buffer, at: number): string {
  return /(?<!\r)\n/.test(text) && hasCrlfEnd(bytes, at) ? text.replace(/(?<!\r)\n/g, '\r\n') : text
}

function findWithAnyLineEnds(bytes: Buffer, lines: Buffer[]): Span[] {
  const found: Span[] = []
  const [first, ...rest] = lines as [Buffer, ...Buffer[]]
  // If the first line is empty, its line end is searched.
  const anchor = first.length > 0 ? first : Buffer.from('\n')
  for (let at = bytes.indexOf(anchor); at !== -1; at = bytes.indexOf(anchor, at + 1)) {
    const start = first.length > 0 || bytes[at - 1] !== 13 ? at : at - 1
    const end = matchRest(bytes, start + first.length, rest)
    if (end !== -1) found.push({ start, end })
  }
  return found
}

/** Returns the end of the lines that follow `at`, each after a line end; -1 if they do not. */
function matchRest(bytes: Buffer, at: number, lines: Buffer[]): number {
  for (const line of lines) {
    if (bytes[at] === 13) at++
    if (bytes[at] !== 10) return -1
    at++
    if (bytes.compare(line, 0, line.length, at, Math.min(at + line.length, bytes.length)) !== 0) return -1
    at += line.length
  }
  return at
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let from = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, from)) {
    lines.push(bytes.subarray(from, at > from && bytes[at - 1] === 13 ? at - 1 : at))
    from = at + 1
  }
  lines.push(bytes.subarray(from))
  return lines
}

/** Returns whether the line at `at` ends in CRLF; at the end of the file, the last line decides. */
function hasCrlfEnd(bytes: Buffer, at: number): boolean {
  if (!bytes.includes('\r\n')) return false
  const next = bytes.indexOf(10, at)
  const own = next !== -1 ? next : bytes.lastIndexOf(10)
  return bytes[own - 1] === 13
}
