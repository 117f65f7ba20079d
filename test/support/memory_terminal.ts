import { PassThrough } from 'node:stream'
import headless from '@xterm/headless'
import { expect } from 'vitest'

/** A terminal in memory: streams for a session, and what stands on the screen and above it. */
export function memoryTerminal({ columns = 60, rows = 20 } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: (on: boolean) => (stdin.isRaw = on) })
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: 50_000, allowProposedApi: true })
  const frames: string[] = []
  const output = Object.assign(new PassThrough(), { isTTY: true, columns, rows })
  output.on('data', (chunk: Buffer) => {
    frames.push(String(chunk))
    screen.write(chunk)
  })
  const lines = () => Array.from({ length: screen.buffer.active.length }, (_, at) => screen.buffer.active.getLine(at)!.translateToString(true))
  const text = () => lines().join('\n').trimEnd()
  return {
    stdin, output, screen, frames, text,
    type: (data: string) => void stdin.write(data),
    /** When all is drawn that was written. */
    drawn: () => new Promise<void>((resolve) => screen.write('', resolve)),
    /** As a terminal does that has drawn all it got. */
    async resize(columns: number, rows: number) {
      await new Promise<void>((resolve) => screen.write('', resolve))
      screen.resize(columns, rows)
      Object.assign(output, { columns, rows })
      output.emit('resize')
    },
    until: (wanted: string | RegExp) => expect.poll(text, { timeout: 10_000, message: String(wanted) }).toMatch(wanted),
  }
}
