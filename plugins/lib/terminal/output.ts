import { visibleJson } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'

/** How a list is asked for; nothing said: text at a terminal, a JSON document elsewhere. */
export interface OutputForm {
  json?: boolean | undefined
  text?: boolean | undefined
}

/** Whether a JSON document is printed, and not the text that a person reads. */
export const shouldPrintJson = ({ stdout }: Io, { json, text }: OutputForm): boolean =>
  json ?? (text === undefined ? stdout.isTTY !== true : !text)

/** A value as one line of JSON, in which what moves a cursor, turns or hides text stands in escapes: parsed, it is what it was. */
export const formatDocument = (value: unknown): string => `${visibleJson(JSON.stringify(value))}\n`

const UNITS: readonly [seconds: number, unit: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
]

/** How long ago something was, for a person; a month and more is a day in the calendar. What is no time stays as it is. */
export function formatAge(time: string, now: number): string {
  const seconds = Math.round((now - Date.parse(time)) / 1000)
  if (Number.isNaN(seconds)) return time
  if (seconds > 30 * 86_400 || seconds < -60) return time.slice(0, 10)
  const [length, unit] = UNITS.find(([length]) => seconds >= length) ?? []
  return length === undefined ? 'just now' : `${Math.floor(seconds / length)} ${unit} ago`
}
