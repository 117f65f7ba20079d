import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Io } from '../../../core/index.js'

// A line as it fits most terminals.
const width = 80

// What comes within this time was pasted, not typed, and is one message, where the terminal does not say what is pasted.
const paste_ms = 15
const [pastesOn, pastesOff] = ['\u001b[?2004h', '\u001b[?2004l']

/**
 * The one reader of a terminal. A line goes to the question that is open, else to whoever waits for one, else, while something is under
 * way, to `meanwhile`. What others write with `io` stands above the line that is being typed.
 */
export class Keyboard {
  readonly io: Io
  /** Gets what is typed while something is under way. */
  meanwhile: (text: string) => void = () => {}
  private reader: Interface | undefined
  private history: string[] = []
  private pasted: string[] = []
  /** The lines of what is pasted, of which the last one is being typed on. */
  private held: string[] = []
  private pasting = false
  private waiting: ((text: string | undefined) => void) | undefined
  private signal: AbortSignal
  private armed = false
  private over = false
  /** Where a text stands in the middle of its line, to go on there. */
  private halfway: Io['stdout'] | undefined

  constructor(private readonly terminal: Io) {
    this.io = {
      ...terminal,
      stdout: this.above(terminal.stdout),
      stderr: this.above(terminal.stderr),
      alone: (ask) => this.lend(ask),
    }
    this.signal = terminal.signal
    terminal.signal.addEventListener('abort', this.end)
    terminal.interrupts?.(this.interrupted)
    process.on('SIGCONT', this.continued)
    process.on('exit', this.restore)
    this.open()
  }

  /** The next message, with something in it to begin with; `undefined` when there will be none. */
  next(draft = ''): Promise<string | undefined> {
    this.breakLine()
    return new Promise((resolve) => {
      this.waiting = resolve
      if (this.over) this.end()
      const line = [draft, this.reader?.line].filter(Boolean).join(' ')
      this.erase()
      this.put(line, line.length)
    })
  }

  /** Nobody waits for a line any more; what is typed so far stays. */
  release(): void {
    this.waiting = undefined
  }

  /** Something that Ctrl-C ends, and nothing else by it. */
  async during<T>(what: (signal: AbortSignal, stop: () => void) => Promise<T>): Promise<T> {
    const { signal, interrupts } = this.terminal
    const own = new AbortController()
    this.signal = AbortSignal.any([signal, own.signal])
    interrupts?.(() => (own.abort(), true))
    try {
      return await what(this.signal, () => own.abort())
    } finally {
      this.signal = signal
      interrupts?.(this.interrupted)
    }
  }

  /** Leaves the terminal as it was. */
  close(): void {
    this.end()
    this.terminal.signal.removeEventListener('abort', this.end)
    this.terminal.interrupts?.(undefined)
    process.off('SIGCONT', this.continued)
    process.off('exit', this.restore)
  }

  private open(): void {
    const reader = (this.reader = createInterface({
      input: this.terminal.stdin,
      output: this.screen,
      history: this.history,
    }))
    // What is typed begins a line of its own.
    this.terminal.stdin.prependListener('keypress', this.before)
    this.mode(pastesOn)
    reader.once('close', () => {
      this.terminal.stdin.off('keypress', this.before)
      this.mode(pastesOff)
    })
    reader.on('history', (history) => (this.history = [...history]))
    reader.on('line', (text) => {
      if (this.pasting) return void this.held.push(text)
      if (this.held.length > 0) text = [...this.held.splice(0), text].join('\n')
      if (this.pasted.push(text) === 1) setTimeout(() => this.take(), paste_ms)
    })
    reader.on('close', () => reader === this.reader && this.end())
    // In raw mode these are keys; they mean what they mean elsewhere.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    reader.on('SIGTSTP', () => {
      this.mode(pastesOff)
      process.kill(0, 'SIGTSTP')
    })
  }

  /** What is pasted is text, its line ends too: nothing is sent before Enter is typed. */
  private readonly before = (_text: unknown, key: { name?: string } | undefined): void => {
    if (key?.name === 'paste-start' || key?.name === 'paste-end') this.pasting = key.name === 'paste-start'
    else this.breakLine()
  }
  private mode(sequence: string): void {
    if (this.terminal.env['TERM'] !== 'dumb') this.screen.write(sequence)
  }
  private readonly restore = (): void => {
    if (this.reader) this.mode(pastesOff)
  }
  private readonly continued = (): void => {
    this.mode(pastesOn)
    this.redraw()
  }

  private take(): void {
    const text = this.pasted.splice(0).join('\n').trim()
    const { waiting } = this
    this.armed = false
    if (text === '') return this.redraw()
    this.waiting = undefined
    if (waiting) waiting(text)
    else this.meanwhile(text)
  }

  /** Ctrl-C while nothing is under way: empties the line; on an empty one the first warns and the second ends. */
  private readonly interrupted = (): boolean => {
    const dropped = this.held.splice(0).length > 0
    const empty = this.reader?.line === '' && !dropped
    if (empty && this.armed) this.end()
    else if (empty) this.io.stderr.write('Ctrl-C once more ends the chat.\n')
    else this.erase()
    this.armed = empty
    this.redraw()
    return false
  }

  private readonly end = (): void => {
    const { reader, waiting } = this
    this.over = true
    this.reader = undefined
    this.waiting = undefined
    reader?.close()
    if (!waiting) return
    this.terminal.stderr.write('\n')
    waiting(undefined)
  }

  /** The terminal for a question alone; what was typed before it is there again after it. */
  private async lend<T>(ask: (io: Io) => Promise<T>): Promise<T> {
    const { line = '', cursor = 0 } = this.reader ?? {}
    const { reader } = this
    this.breakLine()
    this.erase()
    this.reader = undefined
    reader?.close()
    try {
      return await ask({ ...this.terminal, signal: this.signal })
    } finally {
      if (!this.over) this.open()
      this.put(line, cursor)
    }
  }

  private above(stream: Io['stdout']): Io['stdout'] {
    let held = ''
    const write = (chunk: string | Buffer, _encoding: unknown, done: () => void): void => {
      const text = held + String(chunk)
      const { line = '', cursor = 0 } = this.reader ?? {}
      if (line === '' && !this.waiting) {
        if (this.halfway !== stream) this.breakLine()
        stream.write(text)
        held = ''
        this.halfway = text.endsWith('\n') ? undefined : stream
      } else {
        // Beside what is being typed there is room for whole lines only; a long one is as good as whole.
        const end = Math.max(text.lastIndexOf('\n'), text.length > width ? text.lastIndexOf(' ') : -1) + 1
        held = text.slice(end)
        if (end > 0) {
          this.erase()
          stream.write(text.slice(0, end).replace(/\n?$/, '\n'))
          this.put(line, cursor)
        }
      }
      done()
    }
    return Object.assign(new Writable({ decodeStrings: false, write }), { isTTY: stream.isTTY === true })
  }

  private readonly breakLine = (): void => {
    this.halfway?.write('\n')
    this.halfway = undefined
  }

  private get screen(): NodeJS.WritableStream {
    return this.terminal.screen ?? this.terminal.stderr
  }

  private erase(): void {
    if (!this.reader) return
    // Node does not count the rows of what comes in one piece.
    Object.assign(this.reader, { prevRows: this.reader.getCursorPos().rows })
    this.reader.write(null, { ctrl: true, name: 'e' })
    this.reader.write(null, { ctrl: true, name: 'u' })
    clearLine(this.screen, 0)
    cursorTo(this.screen, 0)
  }
  private put(line: string, cursor: number): void {
    this.redraw()
    // A terminal that cannot move its cursor has kept it.
    if (line === '' || this.reader?.line !== '') return
    this.reader.write(line)
    for (let left = line.length - cursor; left > 0; left--) this.reader.write(null, { name: 'left' })
  }
  private readonly redraw = (): void => {
    this.breakLine()
    this.reader?.setPrompt(this.waiting ? '> ' : '')
    this.reader?.prompt(true)
  }
}
