import { redactText, visible, visibleLine } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { measureTextWidth } from './text_width.js'
import { openTypedInput } from './typed_input.js'

/** Escapes text of others for display. */
export { visible as printable } from '../../../core/text/index.js'

/** Returns text for stdout: escaped for a terminal, unchanged otherwise. */
export const formatForStdout = ({ stdout }: Io, text: string): string => (stdout.isTTY ? visible(text) : text)

// oxlint-disable-next-line eslint/no-misleading-character-class -- The class names the joiners themselves.
const JOINERS = /[\u200c\u200d\ufe0e\ufe0f]+$/
/**
 * Creates a function that escapes a text in pieces for a terminal and returns the part that is ready. `whole`: the
 * last piece.
 */
export function createTerminalStream(): (text: string, whole?: boolean) => string {
  let before = ''
  let held = ''
  return (text, whole = false) => {
    const all = held + text
    // A joiner is visible or not depending on both neighbours.
    const end = whole ? all.length : (JOINERS.exec(all)?.index ?? all.length)
    held = all.slice(end)
    const now = before + all.slice(0, end)
    const shown = visible(now).slice(visible(before).length)
    before = now.slice(-8)
    return shown
  }
}

/**
 * Breaks a text of others into the rows of a terminal. `mark` begins each row, so that none looks like a line of this
 * program; `first` begins the first row of a line.
 */
export function frameText(text: string, columns: number, mark = '│ ', first = mark): string {
  const rows = visible(text)
    .split('\n')
    .flatMap((line) => breakLine(first + line.replaceAll('\t', '  '), Math.max(20, columns - 1), mark))
  return rows.join('\n')
}

/** Breaks a line, at a space if possible. Characters outside of ASCII count as two columns, the most that they take. */
function breakLine(line: string, columns: number, mark: string): string[] {
  const rows = []
  let rest = line
  for (let end = findEnd(rest, columns); end < rest.length; end = findEnd(rest, columns)) {
    const space = rest.lastIndexOf(' ', end)
    const at = space > mark.length + columns / 2 ? space + 1 : end
    rows.push(rest.slice(0, at))
    rest = mark + rest.slice(at)
  }
  return [...rows, rest]
}
function findEnd(text: string, columns: number): number {
  let end = 0
  for (const letter of text) {
    columns -= letter > '~' ? 2 : 1
    if (columns < 0) break
    end += letter.length
  }
  return end
}

/** Returns a text of others on one escaped line, with runs of white space as one space. */
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

/** Creates the colours of a stream; without a terminal, or with NO_COLOR, text stays unchanged. */
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

/** Prints a message on stderr; stdout is for data. */
export function say(io: Io, level: 'error' | 'warning' | 'info', text: string): void {
  if (io.quiet && level === 'info') return
  const colour = createPaint(io.stderr, io.env)[level === 'error' ? 'red' : level === 'warning' ? 'yellow' : 'dim']
  io.stderr.write(`vtcode: ${colour(level)}: ${visible(redactText(text))}\n`)
}

/**
 * Formats rows with cells padded to columns. The last cell is not padded and may have a style. Line ends in cells are
 * escaped.
 */
export function formatColumns(
  table: readonly (readonly string[])[],
  last: (text: string) => string = (text) => text,
): string {
  const rows = table.map((row) => row.map(visibleLine))
  const widths = rows.reduce<number[]>(
    (wide, row) => row.map((cell, i) => Math.max(wide[i] ?? 0, measureTextWidth(cell))),
    [],
  )
  return rows
    .map(
      (row) =>
        row
          .map((cell, i) =>
            i === row.length - 1 ? last(cell) : cell + ' '.repeat(widths[i]! - measureTextWidth(cell)),
          )
          .join('  ')
          .trimEnd() + '\n',
    )
    .join('')
}

/** Returns whether a person can be asked: stderr and stdin are terminals. */
export function isInteractive(io: Io): boolean {
  // Reading `stdin` opens it, so stderr is checked first.
  return io.stderr.isTTY === true && io.stdin.isTTY === true
}

/** Asks while no other input line is being edited. */
export const askAlone = <T>(io: Io, ask: (io: Io) => Promise<T>): Promise<T> =>
  io.withTerminal ? io.withTerminal(ask) : ask(io)

/** Asks a person for confirmation; only `y` and `yes` confirm. */
export const confirm = async (io: Io, question: string): Promise<boolean> =>
  /^y(es)?$/i.test(await readLine(io, `${question} [y/N] `))

/** Lines within this time are one paste. */
const PASTE_MS = 15

/**
 * Takes the keys that were typed before a question was shown. They answer nothing, so a caller keeps or drops them.
 */
export async function takeTypedAhead({ stdin }: Pick<Io, 'stdin'>): Promise<string> {
  const input = stdin as NodeJS.ReadStream
  if (!input.isTTY) return ''
  const wasRaw = input.isRaw ?? false
  let text = ''
  const read = (chunk: Buffer | string): void => void (text += String(chunk))
  // Without raw mode the terminal holds back an unfinished line.
  input.setRawMode?.(true)
  input.on('data', read)
  // The event loop reads pending input once between two turns.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  input.off('data', read).pause()
  input.setRawMode?.(wasRaw)
  if (text.includes('\u0003')) process.kill(process.pid, 'SIGINT')
  return text
}

/**
 * Reads one answer from a person, trimmed; empty at the end of input and at an interruption. Keys that were typed
 * before the question and pasted text are dropped, and several lines at once are one text. `intro` is printed before
 * the question.
 */
export async function readLine(io: Io, question: string, intro = ''): Promise<string> {
  const { createInterface } = await import('node:readline')
  await takeTypedAhead(io)
  io.stderr.write(intro)
  const typed = openTypedInput(io, () => {
    io.stderr.write('\nPasted text answers nothing. Type the answer.\n')
    reader.prompt(true)
  })
  const reader = createInterface({ input: typed.input, output: io.screen ?? io.stderr })
  return new Promise((resolve) => {
    const lines: string[] = []
    const answer = () => {
      io.signal.removeEventListener('abort', nothing)
      resolve(lines.join('\n').trim())
      reader.close()
      typed.close()
    }
    const nothing = () => {
      lines.length = 0
      answer()
    }
    reader.on('line', (line) => {
      if (lines.push(line) === 1) setTimeout(answer, PASTE_MS)
    })
    reader.on('close', answer)
    // In raw mode Ctrl-C is a key, so the signal is sent to the process here.
    // The answer waits for the signal, so that its reader finds the program interrupted.
    reader.on('SIGINT', () => (process.once('SIGINT', nothing), void process.kill(process.pid, 'SIGINT')))
    io.signal.addEventListener('abort', nothing)
    reader.setPrompt(visible(question))
    reader.prompt()
  })
}
