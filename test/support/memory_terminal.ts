import { PassThrough } from 'node:stream'
import headless from '@xterm/headless'
import { expect } from 'vitest'

/** A terminal in memory: streams for a session, and the content of the screen and of its history. */
export function memoryTerminal({ columns = 60, rows = 20 } = {}) {
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode: (on: boolean) => (stdin.isRaw = on),
  })
  const screen = new headless.Terminal({ cols: columns, rows, scrollback: 50_000, allowProposedApi: true })
  const frames: string[] = []
  const output = Object.assign(new PassThrough(), { isTTY: true, columns, rows })
  output.on('data', (chunk: Buffer) => {
    frames.push(String(chunk))
    screen.write(chunk)
  })
  const lines = () =>
    Array.from({ length: screen.buffer.active.length }, (_, at) =>
      screen.buffer.active.getLine(at)!.translateToString(true).trimEnd(),
    )
  /** Returns the screen with its colors, as the numbers that set them. */
  const styled = () =>
    Array.from({ length: screen.buffer.active.length }, (_, at) => styledRow(screen.buffer.active.getLine(at)!))
      .join('\n')
      .trimEnd()
  const text = () => lines().join('\n').trimEnd()
  return {
    stdin,
    output,
    screen,
    frames,
    text,
    styled,
    type: (data: string) => void stdin.write(data),
    /** Waits until all output is drawn. */
    drawn: () => new Promise<void>((resolve) => screen.write('', resolve)),
    /** Acts as a terminal that has drawn all its input. */
    async resize(columns: number, rows: number) {
      await new Promise<void>((resolve) => screen.write('', resolve))
      screen.resize(columns, rows)
      Object.assign(output, { columns, rows })
      output.emit('resize')
    },
    until: (wanted: string | RegExp) => expect.poll(text, { message: String(wanted) }).toMatch(wanted),
  }
}

type Row = NonNullable<ReturnType<headless.Terminal['buffer']['active']['getLine']>>

/** A row with `{1;36}` where bold cyan begins, and `{}` where nothing of it is left. */
function styledRow(row: Row): string {
  let [text, before] = ['', '']
  const width = row.translateToString(true).length
  for (let column = 0; column < row.length; column++) {
    const cell = row.getCell(column)!
    if (column >= width && cell.getChars() === '') break
    const on: [number, number | boolean][] = [
      [1, cell.isBold()],
      [2, cell.isDim()],
      [3, cell.isItalic()],
      [4, cell.isUnderline()],
      [7, cell.isInverse()],
      [9, cell.isStrikethrough()],
    ]
    const styles = [
      ...on.filter(([, set]) => set).map(([number]) => number),
      ...(cell.isFgPalette() ? [30 + cell.getFgColor()] : []),
    ].join(';')
    if (styles !== before) text += `{${styles}}`
    before = styles
    if (cell.getWidth() > 0) text += cell.getChars() || ' '
  }
  return before === '' ? text : `${text}{}`
}
