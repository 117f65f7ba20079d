import { redactText, visible, visibleLine } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'

/** Text of others as a person may see it: the function that every text leaves by. */
export { visible as printable } from '../../../core/text/index.js'

/** What goes to stdout as it is, and to a terminal fit for it. */
export const formatForStdout = ({ stdout }: Io, text: string): string => (stdout.isTTY ? visible(text) : text)

const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]+$/
/** The same for a text that comes in pieces, to a terminal: what can be shown of it by now; `whole`: nothing follows. */
export function createTerminalStream(): (text: string, whole?: boolean) => string {
  let before = ''
  let held = ''
  return (text, whole = false) => {
    const all = held + text
    // Whether a sign that joins is drawn depends on both its sides.
    const end = whole ? all.length : (JOINERS.exec(all)?.index ?? all.length)
    held = all.slice(end)
    const now = before + all.slice(0, end)
    const shown = visible(now).slice(visible(before).length)
    before = now.slice(-8)
    return shown
  }
}

/** One line of a text of others; what it has of spaces and line ends is one space. */
export function toOneLine(text: string): string {
  return visible(text.replace(/[^\S\u2028\u2029\ufeff]+/g, ' ')).trim()
}

export interface Paint {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

/** Colours for a stream that is a terminal and a user who has not said NO_COLOR; elsewhere the text as it is. */
export function createPaint(stream: { isTTY?: boolean }, env: Io['env']): Paint {
  const colourful = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  const style = (on: number, off: number) => (text: string) => (colourful ? `\u001b[${on}m${text}\u001b[${off}m` : text)
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  }
}

/** A remark on stderr; stdout is for data. */
export function say(io: Io, level: 'error' | 'warning' | 'info', text: string): void {
  if (io.quiet && level === 'info') return
  const colour = createPaint(io.stderr, io.env)[level === 'error' ? 'red' : level === 'warning' ? 'yellow' : 'dim']
  io.stderr.write(`vtcode: ${colour(level)}: ${visible(redactText(text))}\n`)
}

/** Lines with their cells padded to columns; the last cell runs free, in a style where one is given. No cell makes a line of its own. */
export function formatColumns(
  table: readonly (readonly string[])[],
  last: (text: string) => string = (text) => text,
): string {
  const rows = table.map((row) => row.map(visibleLine))
  const widths = rows.reduce<number[]>((wide, row) => row.map((cell, i) => Math.max(wide[i] ?? 0, cell.length)), [])
  return rows
    .map(
      (row) =>
        row
          .map((cell, i) => (i === row.length - 1 ? last(cell) : cell.padEnd(widths[i]!)))
          .join('  ')
          .trimEnd() + '\n',
    )
    .join('')
}

/** True when there is a person to ask: the question goes to stderr, the answer comes from stdin. */
export function isInteractive(io: Io): boolean {
  // What nobody reads from is not opened.
  return io.stderr.isTTY === true && io.stdin.isTTY === true
}

/** Puts a question where somebody may be in the middle of a line. */
export const askAlone = <T>(io: Io, ask: (io: Io) => Promise<T>): Promise<T> => (io.alone ? io.alone(ask) : ask(io))

/** Asks a person; anything but a clear yes is no, and so are the end of input and an interruption. */
export const confirm = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await readLine(io, `${question} [y/N] `))

/** One line from a person, trimmed; empty at the end of input and at an interruption. */
export async function readLine(io: Io, question: string): Promise<string> {
  const { createInterface } = await import('node:readline')
  const reader = createInterface({ input: io.stdin, output: io.screen ?? io.stderr })
  return new Promise((resolve) => {
    const answer = (text: string) => {
      io.signal.removeEventListener('abort', nothing)
      resolve(text.trim())
      reader.close()
    }
    const nothing = () => answer('')
    reader.on('close', nothing)
    // At a terminal in raw mode Ctrl-C is a key; it means the program all the same.
    // The signal comes later than this turn, and what waits for the answer has to find the program interrupted.
    reader.on('SIGINT', () => (process.once('SIGINT', nothing), void process.kill(process.pid, 'SIGINT')))
    io.signal.addEventListener('abort', nothing)
    reader.question(visible(question), answer)
  })
}
