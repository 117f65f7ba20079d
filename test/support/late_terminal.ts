import { EventEmitter } from 'node:events'
import headless from '@xterm/headless'
import { vi } from 'vitest'

/** A terminal in memory that draws on request, like one on a busy machine; its clock is that of the test. */
export function lateTerminal({ columns, rows }: { columns: number; rows: number }) {
  const stdin = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: () => {},
    resume: () => {},
    pause: () => {},
  })
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: 50_000, allowProposedApi: true })
  let waiting = ''
  const size = { columns, rows }
  const write = (text: string): boolean => ((waiting += text), true)
  const output = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns,
    rows,
    write,
    getWindowSize: (): [number, number] => [size.columns, size.rows],
  })
  const draw = (text: string): void => {
    waiting = waiting.slice(text.length)
    screen.write(text)
    vi.advanceTimersByTime(1)
  }
  const lines = () =>
    Array.from({ length: screen.buffer.active.length }, (_, at) =>
      screen.buffer.active.getLine(at)!.translateToString(true).trimEnd(),
    )
  return {
    stdin: stdin as unknown as NodeJS.ReadStream,
    output: output as unknown as NodeJS.WriteStream,
    screen,
    /** Output that is written and not drawn yet. */
    waiting: () => waiting,
    /** Draws so many of the frames that wait. */
    drawFrames: (most: number) => draw((waiting.match(/[^]*?\u001b\[\?2026l|[^]+/g) ?? []).slice(0, most).join('')),
    /** Draws so many characters. */
    drawPart: (most: number) => draw(waiting.slice(0, most)),
    /** The window has another size. */
    resizeWindow: (columns: number, rows: number) => screen.resize(columns, rows),
    /** Gives the program a new size before `tell` reports it. */
    know: (columns: number, rows: number) => Object.assign(size, { columns, rows }),
    tell: () => output.emit('resize'),
    type: (text: string) => stdin.emit('data', Buffer.from(text)),
    text: () => lines().join('\n').trimEnd(),
  }
}
