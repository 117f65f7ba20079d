import type { JsonObject, Notice } from '../../../core/shapes/index.js'
import { visibleLine } from '../../../core/text/index.js'
import { cut, notice } from '../base/index.js'
import type { Pattern } from '../search/index.js'

/** Another reading of a pattern that matched nothing. */
interface Reading {
  pattern: Pattern
  /** The pattern has only this meaning in the programs that write it so. */
  isClear: boolean
  /** Sentence about the characters that the engine reads as plain text. */
  plain: string
}

/** A search by the pattern as given, or as other programs read it. */
export interface ReadSearch<T> {
  found: T
  pattern: Pattern
  notices: Notice[]
  /** Fields of a call with the other reading. */
  fields?: JsonObject
}

/**
 * Runs a search. If nothing matches a pattern as GNU programs write it, runs it in that meaning where the meaning is
 * clear; else a notice lists what is plain text here.
 */
export async function searchAsMeant<T extends { total: number; incomplete: boolean }>(
  pattern: Pattern,
  run: (pattern: Pattern) => Promise<T | undefined>,
): Promise<ReadSearch<T> | undefined> {
  const found = await run(pattern)
  if (!found) return undefined
  const reading = found.total === 0 && !found.incomplete ? findReading(pattern) : undefined
  if (!reading) return { found, pattern, notices: [] }
  const shown = reading.pattern.patterns.map((one) => `'${visibleLine(cut(one, 80).text)}'`).join(', ')
  const plain = `${reading.plain}, and nothing matches`
  if (reading.isClear) {
    // The other reading may be no pattern at all.
    const other = await run(reading.pattern).catch(() => undefined)
    if (other && other.total > 0)
      return {
        found: other,
        pattern: reading.pattern,
        notices: [notice('VT_SEARCH_LITERAL', `${plain}. The search ran as ${shown}.`)],
      }
  }
  const { patterns, literal, case_sensitive } = reading.pattern
  return {
    found,
    pattern,
    notices: [notice('VT_SEARCH_LITERAL', `${plain}. The other reading is ${shown}.`)],
    fields: {
      ...(patterns.length === 1 ? { pattern: patterns[0]! } : { patterns }),
      ...(pattern.literal && { literal: literal === true }),
      ...(case_sensitive !== pattern.case_sensitive && case_sensitive !== undefined && { case_sensitive }),
    },
  }
}

function findReading(pattern: Pattern): Reading | undefined {
  if (pattern.literal) return findRegex(pattern)
  return findSlashes(pattern) ?? findGnuEscapes(pattern)
}

/** A pattern with operators was searched as plain text. */
function findRegex(pattern: Pattern): Reading | undefined {
  if (!pattern.patterns.some((text) => /\\[wdsbWDSB.()[\]{}]|[.\])][*+?]|\w\|\w|^\^|\w\$$|\[[^\]]+\]/.test(text)))
    return undefined
  return {
    pattern: { ...pattern, literal: false },
    isClear: false,
    plain: 'All characters of the pattern are plain text here',
  }
}

/** A pattern between slashes with flags, as JavaScript and Perl write it. */
function findSlashes(pattern: Pattern): Reading | undefined {
  const [, body, flags = ''] =
    /^\/(.+)\/([gimsuy]+)$/.exec(pattern.patterns.length === 1 ? pattern.patterns[0]! : '') ?? []
  if (body === undefined) return undefined
  const own = /s/.test(flags) ? `(?s)${body}` : body
  return {
    pattern: { ...pattern, patterns: [own], ...(flags.includes('i') && { case_sensitive: false }) },
    isClear: false,
    plain: `The slashes and the flags '${flags}' are plain text here`,
  }
}

/** Operators that GNU programs write with a backslash. */
const OPERATORS = '|(){}+?'

function findGnuEscapes(pattern: Pattern): Reading | undefined {
  const read = pattern.patterns.map(readGnuPattern)
  if (read.every(({ escapes }) => escapes.size === 0)) return undefined
  const escapes = [...new Set(read.flatMap(({ escapes }) => [...escapes]))].map((operator) => `'\\${operator}'`)
  return {
    pattern: { ...pattern, patterns: read.map(({ text }) => text) },
    isClear: read.every((one, at) => one.escapes.size === 0 || isGnuAlternative(pattern.patterns[at]!, one.isMixed)),
    plain: `${escapes.join(', ')} ${escapes.length === 1 ? 'is a plain character' : 'are plain characters'} here`,
  }
}

/** `foo\|bar` is no plain text of a program, unlike `a \| b` and `\|\|`. */
const isGnuAlternative = (text: string, isMixed: boolean): boolean =>
  !isMixed && /\\\|/.test(text) && !/(?:^|\s|\\\|)\\\||\\\|(?:\s|$)/.test(text)

/** Exchanges the operators with and without a backslash, outside of character classes. */
function readGnuPattern(text: string): { text: string; escapes: Set<string>; isMixed: boolean } {
  const escapes = new Set<string>()
  let isMixed = false
  let isClass = false
  let read = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    const next = text[at + 1] ?? ''
    if (char === '\\') {
      const isOperator = !isClass && next !== '' && OPERATORS.includes(next)
      if (isOperator) escapes.add(next)
      read += isOperator ? next : char + next
      at++
    } else if (!isClass && OPERATORS.includes(char)) {
      isMixed = true
      read += `\\${char}`
    } else {
      if (char === '[') isClass = true
      else if (char === ']') isClass = false
      read += char
    }
  }
  return { text: read, escapes, isMixed }
}
