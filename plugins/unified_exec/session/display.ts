import type { Terminal as XTerm } from '@xterm/headless'
import type { StreamLog } from '../output/log.js'
import { takeEnd } from '../output/text.js'
import type { Size } from './transport.js'

// ECMA-48: moving the cursor, erasing or scrolling the screen, inserting and deleting; DEC: the second screen, and
// saving the cursor. Colors, and erasing the rest of a line, move nothing.
const CURSOR_MOVES = /\x08|\x1b(?:\[[\d;]*[A-HJLMPSTXdfr@`]|\[\?(?:47|1047|1049)[hl]|[78DEMc])/

/** Returns whether output moves the cursor of its terminal, so that its text is not what a person sees. */
export const movesCursor = (output: string): boolean => CURSOR_MOVES.test(output)

/** The bytes that are drawn at most, and the cells kept of lines that left the screen. */
const MAX_DRAWN_BYTES = 512 * 1024
const MAX_CELLS = 2 * 1024 * 1024

/**
 * Draws the output of a terminal up to `to`. Returns the text of its last screen, after the lines that left the screen
 * since `from`, in at most `budget` bytes.
 */
export async function drawDisplay(
  log: StreamLog,
  { from, to }: { from: number; to: number },
  size: Size,
  budget: number,
): Promise<string> {
  const { default: xterm } = await import('@xterm/headless')
  const scrollback = Math.floor(MAX_CELLS / size.cols)
  const terminal = new xterm.Terminal({ ...size, scrollback, allowProposedApi: true })
  try {
    const begin = Math.max(0, to - MAX_DRAWN_BYTES)
    const known = Math.max(from, begin)
    await write(terminal, await log.read(begin, known))
    const top = terminal.registerMarker(-terminal.buffer.active.cursorY)
    await write(terminal, await log.read(known, to))
    return fitText(readRows(terminal, top && !top.isDisposed ? top.line : 0), budget)
  } finally {
    terminal.dispose()
  }
}

/** Returns the lines from `first` on; of the second screen, which has no earlier lines, all of them. */
function readRows({ buffer, rows }: XTerm, first: number): string {
  const { active } = buffer
  const isSecond = active.type === 'alternate'
  const lines: string[] = []
  for (let at = isSecond ? 0 : first; at < active.baseY + rows; at++) {
    const line = active.getLine(at)
    const text = line?.translateToString(isSecond || active.getLine(at + 1)?.isWrapped !== true) ?? ''
    if (line?.isWrapped && !isSecond && lines.length > 0) lines.push(`${lines.pop()}${text}`)
    else lines.push(text)
  }
  return lines
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()
}

function fitText(text: string, budget: number): string {
  if (Buffer.byteLength(text) <= budget) return text
  const end = takeEnd(text, budget)
  return `[… ${Buffer.byteLength(text) - Buffer.byteLength(end)} bytes of the screen omitted …]\n${end}`
}

const write = (terminal: XTerm, data: Buffer): Promise<void> => new Promise((resolve) => terminal.write(data, resolve))
