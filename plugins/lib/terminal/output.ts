import { visibleJson } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'

/** Requested form of a list. Default: text at a terminal, a JSON document elsewhere. */
export interface OutputForm {
  json?: boolean | undefined
  text?: boolean | undefined
}

/** Returns whether to print a JSON document instead of text. */
export const shouldPrintJson = ({ stdout }: Io, { json, text }: OutputForm): boolean =>
  json ?? (text === undefined ? stdout.isTTY !== true : !text)

/** Formats a value as one line of JSON. Characters that move the cursor or reverse or hide text are escaped. */
export const formatDocument = (value: unknown): string => `${visibleJson(JSON.stringify(value))}\n`

/** Fences a text as a block of Markdown, with more backticks than the text has. */
export function fenceBlock(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const marks = '`'.repeat(longest + 1)
  return `${marks}${language}\n${text.replace(/\n$/, '')}\n${marks}`
}

const UNITS: readonly [seconds: number, unit: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
]

/** Formats the age of a time for a person, or the date if older than 30 days. Returns an invalid time unchanged. */
export function formatAge(time: string, now: number): string {
  const seconds = Math.round((now - Date.parse(time)) / 1000)
  if (Number.isNaN(seconds)) return time
  if (seconds > 30 * 86_400 || seconds < -60) return time.slice(0, 10)
  const [length, unit] = UNITS.find(([length]) => seconds >= length) ?? []
  return length === undefined ? 'just now' : `${Math.floor(seconds / length)} ${unit} ago`
}
