import { createSyntaxError } from './syntax_error.js'
import type { Hunk, HunkLine } from './types.js'

/** Checks whether the section of a file begins at a line. */
export const isFileHeader = (lines: string[], at: number): boolean =>
  lines[at]!.startsWith('diff --git ') ||
  (lines[at]!.startsWith('--- ') && (lines[at + 1]?.startsWith('+++ ') ?? false))

/** Parses the hunks from a line on, and returns the index of the first line after them. Throws VT_PATCH_SYNTAX. */
export function parseHunks(lines: string[], at: number): { hunks: Hunk[]; end: number } {
  const hunks: Hunk[] = []
  while (lines[at]?.startsWith('@@')) {
    const [, start, old = '1', now = '1'] = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(lines[at]!) ?? []
    const counted = start === undefined ? undefined : findCountedEnd(lines, at + 1, Number(old), Number(now))
    const end = counted ?? findEnd(lines, at + 1)
    hunks.push({
      ...parseBody(lines, at, end),
      // A header without numbers may name a line before the place; with wrong counts the numbers say nothing.
      anchors: start === undefined ? parseAnchor(lines[at]!) : [],
      // Without old lines the number is that of the line before the place.
      ...(counted !== undefined && { hint: Number(start) + (old === '0' ? 1 : 0) }),
    })
    at = end
  }
  return { hunks, end: at }
}

const parseAnchor = (line: string): string[] => {
  const text = line.replace(/^@@ ?/, '').replace(/ ?@@\s*$/, '')
  return text.trim() === '' || /^[-+ \d,.]+$/.test(text) ? [] : [text]
}

/** Returns the end of a hunk by its counts; `undefined` if they are wrong. */
function findCountedEnd(lines: string[], at: number, old: number, now: number): number | undefined {
  for (; old > 0 || now > 0 || lines[at]?.startsWith('\\'); at++) {
    const kind = lines[at]?.[0] ?? (at < lines.length ? ' ' : undefined)
    if (kind === ' ' || kind === '-') old--
    if (kind === ' ' || kind === '+') now--
    if (old < 0 || now < 0 || kind === undefined || !' -+\\'.includes(kind)) return undefined
  }
  return isBody(lines, at) ? undefined : at
}

/** Returns the end of a hunk without counts: the first line that cannot belong to it. */
function findEnd(lines: string[], at: number): number {
  let end = at
  // An empty line is context if more of the hunk follows.
  for (; at < lines.length && (lines[at] === '' || isBody(lines, at)); at++) if (lines[at] !== '') end = at + 1
  return end
}

/** Checks for a line of a hunk that is not empty. */
const isBody = (lines: string[], at: number): boolean =>
  /^[-+ \\]/.test(lines[at] ?? '') && !isFileHeader(lines, at) && !isSignature(lines, at)

/** The end of a mail of `git format-patch`: two hyphens, a space, and the version of git on the next line. */
const isSignature = (lines: string[], at: number): boolean =>
  lines[at] === '-- ' && /^\d+\.\d+\.\d+/.test(lines[at + 1] ?? '')

function parseBody(lines: string[], start: number, end: number): Omit<Hunk, 'anchors' | 'hint'> {
  const own: HunkLine[] = []
  let newline: boolean | undefined
  for (const text of lines.slice(start + 1, end)) {
    const kind = text[0] ?? ' '
    if (kind === '\\') {
      const before = own.at(-1)
      // The remark refers to the line before it: of the old file, the new one, or both.
      if (before?.kind === '+') newline = false
      else if (before?.kind === '-') newline ??= true
      // In a patch that has `\r\n` throughout, the carriage return belongs to the patch.
      if (before && before.kind !== '+' && !text.endsWith('\r')) before.isUnended = true
    } else own.push({ kind: kind as HunkLine['kind'], text: text.slice(1) })
  }
  if (!own.some(({ kind }) => kind !== ' '))
    throw createSyntaxError(start + 1, lines[start]!, "at least one line after it that starts with '-' or '+'")
  return { lines: keepLineEnds(own), atEnd: false, ...(newline !== undefined && { newline }), line: start + 1 }
}

/**
 * Marks the line ends of added lines if lines of the hunk differ in them, or if it has no old lines to compare with.
 * Otherwise those of the file count.
 */
function keepLineEnds(lines: HunkLine[]): HunkLine[] {
  const isMixed = new Set(lines.map(({ text }) => text.endsWith('\r'))).size > 1
  const isNew = lines.every(({ kind, text }) => kind === '+' && text.endsWith('\r'))
  return isMixed || isNew ? lines.map((line) => ({ ...line, end: line.text.endsWith('\r') ? '\r\n' : '\n' })) : lines
}
