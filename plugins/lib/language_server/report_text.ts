import { visibleLine } from '../../../core/text/index.js'
import { cut, pluralize } from '../base/index.js'
import type { Report } from './reports.js'
import type { FileReports } from './use.js'

/** Characters of one message in a text. */
const MAX_MESSAGE = 240
const RANKS = ['error', 'warning', 'info', 'hint']

/** Formats a report as one line: `src/app.ts:3:5: error 2322: Type …`. */
export function formatReport(path: string, { line, column, severity, code, message }: Report, most = MAX_MESSAGE) {
  const name = code === undefined ? severity : `${severity} ${visibleLine(code)}`
  return `${visibleLine(path)}:${line + 1}:${column + 1}: ${name}: ${cut(visibleLine(message), most).text}`
}

/** Counts reports by severity: `2 errors, 1 warning`. */
export const formatCounts = (reports: readonly Report[]): string =>
  RANKS.flatMap((severity) => {
    const count = reports.filter((report) => report.severity === severity).length
    return count === 0 ? [] : [pluralize(count, severity === 'info' ? 'remark' : severity)]
  }).join(', ')

/**
 * Returns the text about what a change added, errors first, in at most `most` bytes. Its end names the call for what
 * does not fit, as `formatRest` writes it.
 */
export function formatNews(
  found: readonly FileReports[],
  most: number,
  formatRest: (count: number, path: string) => string,
): string {
  const rows = found
    .flatMap(({ path, reports }) => reports.map((report) => ({ path, report })))
    .sort((a, b) => RANKS.indexOf(a.report.severity) - RANKS.indexOf(b.report.severity))
  const head = `This change added ${formatCounts(rows.map(({ report }) => report))}:`
  const lines = [head]
  let left = most - Buffer.byteLength(head)
  for (const [index, { path, report }] of rows.entries()) {
    const line = formatReport(path, report)
    const rest = rows.length - index
    const end = rest === 1 ? 0 : Buffer.byteLength(formatRest(rest - 1, path)) + 1
    left -= Buffer.byteLength(line) + 1
    if (left < end) return [...lines, formatRest(rest, path)].join('\n')
    lines.push(line)
  }
  return lines.join('\n')
}

/** Lists the language servers that were found, and the programs of the others. */
export function formatPrograms(
  servers: readonly { name: string; command: string; program: string | null; version?: string }[],
): string {
  const found = servers.flatMap(({ name, program, version }) =>
    program === null ? [] : [visibleLine(version === undefined ? name : `${name} ${version}`)],
  )
  const missing = new Set(servers.flatMap(({ command, program }) => (program === null ? [visibleLine(command)] : [])))
  return `${found.join(', ') || 'none found'}${missing.size > 0 ? `; missing: ${[...missing].join(', ')}` : ''}`
}
