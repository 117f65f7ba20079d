import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import type { Io } from '../../../core/index.js'
import { takeTypedAhead } from '../../lib/terminal/index.js'

/** Width of a line that fits most terminals. */
const LINE_COLUMNS = 80

/** Lines within this time are one paste, for terminals without bracketed paste. */
const PASTE_MS = 15
const [pastesOn, pastesOff] = ['\u001b[?2004h', '\u001b[?2004l']

/**
 * The only reader of a terminal. A line goes to the open question, else to `readMessage`, else to `onBusyMessage`.
 * Output written with `io` appears above the line that is being typed.
 */
export class Keyboard {
  readonly io: Io
  /** Receives messages that are typed during a turn. */
  onBusyMessage: (text: string) => void = () => {}
  private reader: Interface | undefined
  private history: string[] = []
  private pasted: string[] = []
  /** Complete lines of a paste whose last line is still in the editor. */
  private held: string[] = []
  private pasting = false
  private waiting: ((text: string | undefined) => void) | undefined
  private signal: AbortSignal
  private exitArmed = false
  private over = false
  /** Stream whose last line has no line feed yet. */
  private unfinishedLine: Io['stdout'] | undefined

  constructor(private readonly terminal: Io) {
    this.io = {
      ...terminal,
      stdout: this.wrapStream(terminal.stdout),
      stderr: this.wrapStream(terminal.stderr),
      withTerminal: (ask) => this.askAlone(ask),
    }
    this.signal = terminal.signal
    terminal.signal.addEventListener('abort', this.end)
    terminal.onInterrupt?.(this.onInterrupt)
    process.on('SIGCONT', this.onContinue)
    process.on('exit', this.resetPasteMode)
    this.open()
  }

  /** Reads the next message, with `draft` in the editor; `undefined` at the end of input. */
  readMessage(draft = ''): Promise<string | undefined> {
    this.breakLine()
    return new Promise((resolve) => {
      this.waiting = resolve
      if (this.over) this.end()
      const line = [draft, this.reader?.line].filter(Boolean).join(' ')
      this.eraseLine()
      this.restoreLine(line, line.length)
    })
  }

  /** Stops reading a message; keeps the typed text. */
  stopReading(): void {
    this.waiting = undefined
  }

  /** Runs `what`; Ctrl-C aborts only it. */
  async runInterruptible<T>(what: (signal: AbortSignal, stop: () => void) => Promise<T>): Promise<T> {
    const { signal, onInterrupt } = this.terminal
    const own = new AbortController()
    this.signal = AbortSignal.any([signal, own.signal])
    onInterrupt?.(() => (own.abort(), true))
    try {
      return await what(this.signal, () => own.abort())
    } finally {
      this.signal = signal
      onInterrupt?.(this.onInterrupt)
    }
  }

  /** Restores the terminal. */
  close(): void {
    this.end()
    this.terminal.signal.removeEventListener('abort', this.end)
    this.terminal.onInterrupt?.(undefined)
    process.off('SIGCONT', this.onContinue)
    process.off('exit', this.resetPasteMode)
  }

  private open(): void {
    const reader = (this.reader = createInterface({
      input: this.terminal.stdin,
      output: this.screen,
      history: this.history,
    }))
    // Typed text starts on its own line.
    this.terminal.stdin.prependListener('keypress', this.onKeypress)
    this.writeMode(pastesOn)
    reader.once('close', () => {
      this.terminal.stdin.off('keypress', this.onKeypress)
      this.writeMode(pastesOff)
    })
    reader.on('history', (history) => (this.history = [...history]))
    reader.on('line', (text) => {
      if (this.pasting) return void this.held.push(text)
      if (this.held.length > 0) text = [...this.held.splice(0), text].join('\n')
      if (this.pasted.push(text) === 1) setTimeout(() => this.submitLines(), PASTE_MS)
    })
    reader.on('close', () => reader === this.reader && this.end())
    // Raw mode delivers these as keys; raise the usual signals.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
    reader.on('SIGTSTP', () => {
      this.writeMode(pastesOff)
      process.kill(0, 'SIGTSTP')
    })
  }

  /** Tracks pastes: line ends in a paste are text and do not send it. */
  private readonly onKeypress = (_text: unknown, key: { name?: string } | undefined): void => {
    if (key?.name === 'paste-start' || key?.name === 'paste-end') this.pasting = key.name === 'paste-start'
    else this.breakLine()
  }
  private writeMode(sequence: string): void {
    if (this.terminal.env['TERM'] !== 'dumb') this.screen.write(sequence)
  }
  private readonly resetPasteMode = (): void => {
    if (this.reader) this.writeMode(pastesOff)
  }
  private readonly onContinue = (): void => {
    this.writeMode(pastesOn)
    this.redraw()
  }

  private submitLines(): void {
    const text = this.pasted.splice(0).join('\n').trim()
    const { waiting } = this
    this.exitArmed = false
    if (text === '') return this.redraw()
    this.waiting = undefined
    if (waiting) waiting(text)
    else this.onBusyMessage(text)
  }

  /** Handles Ctrl-C between turns: empties the line; on an empty line warns first, then ends the chat. */
  private readonly onInterrupt = (): boolean => {
    const dropped = this.held.splice(0).length > 0
    const empty = this.reader?.line === '' && !dropped
    if (empty && this.exitArmed) this.end()
    else if (empty) this.io.stderr.write('Press Ctrl-C again to end the chat.\n')
    else this.eraseLine()
    this.exitArmed = empty
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

  /** Gives the terminal to a question, then restores the typed text. */
  private async askAlone<T>(ask: (io: Io) => Promise<T>): Promise<T> {
    let { line = '', cursor = 0 } = this.reader ?? {}
    const { reader } = this
    this.breakLine()
    this.eraseLine()
    this.reader = undefined
    reader?.close()
    try {
      const typed = (await takeTypedAhead(this.terminal)).replace(/\p{Cc}+/gu, ' ')
      if (typed !== '') [line, cursor] = [line + typed, line.length + typed.length]
      return await ask({ ...this.terminal, signal: this.signal })
    } finally {
      if (!this.over) this.open()
      this.restoreLine(line, cursor)
    }
  }

  private wrapStream(stream: Io['stdout']): Io['stdout'] {
    let held = ''
    const write = (chunk: string | Buffer, _encoding: unknown, done: () => void): void => {
      const text = held + String(chunk)
      const { line = '', cursor = 0 } = this.reader ?? {}
      if (line === '' && !this.waiting) {
        if (this.unfinishedLine !== stream) this.breakLine()
        stream.write(text)
        held = ''
        this.unfinishedLine = text.endsWith('\n') ? undefined : stream
      } else {
        // Above a typed line only whole lines fit; cut a long one at a space.
        const end = Math.max(text.lastIndexOf('\n'), text.length > LINE_COLUMNS ? text.lastIndexOf(' ') : -1) + 1
        held = text.slice(end)
        if (end > 0) {
          this.eraseLine()
          stream.write(text.slice(0, end).replace(/\n?$/, '\n'))
          this.restoreLine(line, cursor)
        }
      }
      done()
    }
    return Object.assign(new Writable({ decodeStrings: false, write }), { isTTY: stream.isTTY === true })
  }

  private readonly breakLine = (): void => {
    this.unfinishedLine?.write('\n')
    this.unfinishedLine = undefined
  }

  private get screen(): NodeJS.WritableStream {
    return this.terminal.screen ?? this.terminal.stderr
  }

  private eraseLine(): void {
    if (!this.reader) return
    // Node does not count the rows of text that arrives in one piece.
    Object.assign(this.reader, { prevRows: this.reader.getCursorPos().rows })
    this.reader.write(null, { ctrl: true, name: 'e' })
    this.reader.write(null, { ctrl: true, name: 'u' })
    clearLine(this.screen, 0)
    cursorTo(this.screen, 0)
  }
  private restoreLine(line: string, cursor: number): void {
    this.redraw()
    // A terminal that cannot move its cursor kept the line.
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
