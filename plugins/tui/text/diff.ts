import { visible } from '../../../core/text/index.js'
import { highlightLines } from './highlight.js'
import { wrapTextWithAnsi } from './parts.js'
import { breakLongWords, type Theme } from './theme.js'

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/
const FILE = /^(?:\+\+\+ (?:b\/)?|\*\*\* (?:Add|Update) File: )(.*)$/
/** Lines of a diff that name files or places. */
const HEAD = /^(?:@@|\*\*\*|--- |\+\+\+ )/

/** A run of lines between two heads, with the numbers of its first line in the old and the new file. */
interface Run {
  head: string | undefined
  lines: string[]
  language: string | undefined
  numbers: [old: number, now: number] | undefined
}

/** Renders a diff with the numbers of its lines, where it gives them, and the colors of its language. */
export function renderDiff(text: string, columns: number, theme: Theme): string[] {
  const runs = splitRuns(visible(text.replaceAll('\r\n', '\n')).replace(/\n+$/, ''))
  const width = String(
    Math.max(0, ...runs.map(({ numbers, lines }) => Math.max(...(numbers ?? [0])) + lines.length)),
  ).length
  return runs.flatMap((run) => [
    ...(run.head === undefined ? [] : wrap(run.head, columns).map(theme.cyan)),
    ...renderRun(run, columns, width, theme),
  ])
}

function splitRuns(text: string): Run[] {
  const runs: Run[] = []
  let language: string | undefined
  for (const line of text.split('\n')) {
    const last = runs.at(-1)
    if (!HEAD.test(line) && last) {
      last.lines.push(line)
      continue
    }
    const [, path] = FILE.exec(line) ?? []
    if (path !== undefined) language = /\.([a-z\d]+)$/i.exec(path)?.[1]?.toLowerCase()
    const [, old, now] = HUNK.exec(line) ?? []
    const numbers: Run['numbers'] = old === undefined ? undefined : [Number(old), Number(now)]
    const isHead = HEAD.test(line)
    runs.push({ head: isHead ? line : undefined, lines: isHead ? [] : [line], language, numbers })
  }
  return runs
}

/** One line of a run: its mark, its text with and without colors, and its number. */
interface CodeLine {
  mark: string
  text: string
  colored: string | undefined
  number: number
}

function listLines({ lines, language, numbers }: Run, theme: Theme): CodeLine[] {
  const codes = highlightLines(lines.map((line) => line.slice(1)).join('\n'), language, theme, (code) => code)
  let [old, now] = numbers ?? [0, 0]
  return lines.map((line, at) => {
    const mark = /^[-+ ]/.test(line) ? line.charAt(0) : ''
    const text = line.slice(mark.length)
    const number = mark === '-' ? old : now
    if (mark === '-' || mark === ' ') old += 1
    if (mark === '+' || mark === ' ') now += 1
    const colored = mark !== '' && codes[at] !== text ? codes[at] : undefined
    return { mark, text, colored, number }
  })
}

function renderRun(run: Run, columns: number, width: number, theme: Theme): string[] {
  const styles: Record<string, (text: string) => string> = { '+': theme.green, '-': theme.red }
  return listLines(run, theme).flatMap(({ mark, text, colored, number }) => {
    const style = styles[mark] ?? theme.dim
    const gutter = run.numbers ? `${(mark === '' ? '' : String(number)).padStart(width)} ` : ''
    return wrap(colored ?? text, columns - gutter.length - 1).map((row, part) => {
      const start = (part === 0 ? gutter : ' '.repeat(gutter.length)) + mark
      return colored === undefined ? style(start + row) : style(start) + row
    })
  })
}

const wrap = (text: string, columns: number): string[] =>
  wrapTextWithAnsi(breakLongWords(text, columns).replaceAll('\t', '    '), Math.max(1, columns))
