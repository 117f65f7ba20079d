import type { Diagnostic } from 'vscode-languageserver-protocol'
import { isObject } from '../../../core/shapes/index.js'

/** Diagnostics of one file, and characters of one message, that are kept. */
const MAX = { diagnostics: 2_000, message: 2_000, code: 40 }
const SEVERITIES = ['error', 'warning', 'info', 'hint'] as const
export type ReportSeverity = (typeof SEVERITIES)[number]

/** A checked diagnostic. Lines and columns begin with 0; columns are UTF-16 units. */
export interface Report {
  line: number
  column: number
  severity: ReportSeverity
  code?: string
  message: string
}

/** Returns the usable diagnostics of an answer, in the order of their places. */
export function readReports(items: unknown): Report[] {
  if (!Array.isArray(items)) return []
  const reports = (items as Partial<Diagnostic>[])
    .slice(0, MAX.diagnostics)
    .flatMap((item) => (isObject(item) ? (readReport(item) ?? []) : []))
  return reports.sort((a, b) => a.line - b.line || a.column - b.column)
}

function readReport({ range, severity, code, message }: Partial<Diagnostic>): Report | undefined {
  const { line, character } = range?.start ?? {}
  // A message may be text with markup in newer revisions of the protocol.
  const text: unknown = isObject(message) ? message['value'] : message
  if (!isCount(line) || !isCount(character) || typeof text !== 'string') return undefined
  const known = typeof code === 'string' || typeof code === 'number'
  return {
    line,
    column: character,
    severity: SEVERITIES[(severity ?? 1) - 1] ?? 'error',
    ...(known && { code: String(code).slice(0, MAX.code) }),
    message: text.slice(0, MAX.message),
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** A text with its reports. */
export interface ReportedText {
  text: string
  reports: readonly Report[]
}

/**
 * Returns the reports of `after` that `before` lacks. A report is known by its line's text and its message, because
 * lines move; of reports with equal messages, those on lines of the earlier text are the old ones.
 */
export function findNewReports(before: ReportedText, after: ReportedText): Report[] {
  const exact = countKeys(before, withLine)
  const rest = countKeys(before, withoutLine)
  const lines = after.text.split('\n')
  const unmatched = after.reports.filter((report) => {
    if (!take(exact, withLine(report, lines))) return true
    take(rest, withoutLine(report))
    return false
  })
  return unmatched.filter((report) => !take(rest, withoutLine(report)))
}

const withoutLine = ({ severity, code, message }: Report): string => `${severity}\0${code}\0${message}`
const withLine = (report: Report, lines: string[]): string =>
  `${withoutLine(report)}\0${lines[report.line]?.trim() ?? ''}`

function countKeys({ text, reports }: ReportedText, toKey: (report: Report, lines: string[]) => string) {
  const lines = text.split('\n')
  const counts = new Map<string, number>()
  for (const report of reports) {
    const key = toKey(report, lines)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** Takes one of a key, and returns whether there was one. */
function take(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0
  counts.set(key, count - 1)
  return count > 0
}
