import { StdinBuffer, setKittyProtocolActive } from './text/index.js'
import { writeSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { sequences } from './terminal_modes.js'
import type { KeyboardProtocolSettings, SessionOptions } from './types.js'

/**
 * Receives input of a terminal. `version`: its reported name. `onSecond`: it reports that its second screen is shown.
 */
export interface TerminalListener {
  key(data: string): void
  resize(): void
  version(name: string): void
  onSecond(): void
}
/** A terminal, reduced to the needs of a session. */
export interface TerminalPort {
  readonly columns: number
  readonly rows: number
  /** Writes text. Never throws; ignores a closed terminal. */
  write(text: string): void
  /** Starts to deliver keys, one at a time. */
  open(on: TerminalListener): void
  /** Restores the terminal synchronously and writes `rows`. May be called twice; `open` works again after it. */
  restore(rows?: readonly string[]): void
}

/** Time to report the Kitty protocol before modifyOtherKeys is requested; a later answer still counts. */
const KITTY_ANSWER_MS = 150

const [pasteBegin, pasteEnd] = ['\u001b[200~', '\u001b[201~']

/** A terminal on two streams. */
export class TtyPort implements TerminalPort {
  private readonly buffer = new StdinBuffer({ timeout: 25 })
  private decoder = new StringDecoder('utf8')
  private on: TerminalListener | undefined
  private wasRaw = false
  private leaveSequence = ''
  private timer: NodeJS.Timeout | undefined
  /** Paste in progress; `tail` may be the start of its end mark. */
  private pasted: { pieces: string[]; tail: string } | undefined

  constructor(
    private readonly streams: Pick<SessionOptions, 'stdin' | 'output'>,
    private readonly keyboard: KeyboardProtocolSettings,
    /** Sequences that are written first at `open` and last at `restore`. */
    private readonly modes: { enter: string; leave: string } = { enter: '', leave: '' },
  ) {
    this.buffer.on('data', (data) => this.handleInput(data))
    this.buffer.on('paste', (text) => this.on?.key(`\u001b[200~${text}\u001b[201~`))
  }

  // Default size of a terminal that reports none.
  get columns(): number {
    return this.size[0] || 80
  }
  get rows(): number {
    return this.size[1] || 24
  }
  /** Current size. SIGWINCH comes later, and a frame of the wrong width would overwrite finished rows. */
  private get size(): readonly [columns: number, rows: number] {
    const { output } = this.streams
    try {
      return output.getWindowSize?.() ?? [output.columns ?? 0, output.rows ?? 0]
    } catch {
      return [output.columns ?? 0, output.rows ?? 0]
    }
  }

  write(text: string): void {
    try {
      this.streams.output.write(text)
    } catch {
      // The terminal is gone; SIGHUP follows.
    }
  }

  open(on: TerminalListener): void {
    const { stdin, output } = this.streams
    this.on = on
    this.wasRaw = stdin.isRaw ?? false
    stdin.setRawMode?.(true)
    stdin.on('data', this.read)
    stdin.resume()
    output.on('resize', this.onResize)
    output.off('error', this.onError).on('error', this.onError)
    this.leaveSequence = sequences.leave + this.modes.leave
    this.write(sequences.enter + this.modes.enter + sequences.which + (this.keyboard.enabled ? sequences.query : ''))
    if (this.keyboard.enabled) this.timer = setTimeout(() => this.enableOtherKeys(), KITTY_ANSWER_MS).unref()
  }

  restore(rows: readonly string[] = []): void {
    if (!this.on) return
    const { stdin, output } = this.streams
    this.on = undefined
    clearTimeout(this.timer)
    stdin.off('data', this.read)
    output.off('resize', this.onResize)
    setKittyProtocolActive(false)
    this.writeNow(this.leaveSequence + rows.map((row) => `${row}\r\n`).join(''))
    stdin.setRawMode?.(this.wasRaw)
    stdin.pause()
    this.buffer.clear()
    this.pasted = undefined
    this.decoder = new StringDecoder('utf8')
  }

  /** Writes synchronously, so that the text arrives before the process ends. */
  private writeNow(text: string): void {
    const { fd } = this.streams.output
    try {
      if (fd === undefined) this.streams.output.write(text)
      else writeSync(fd, text)
    } catch {
      this.write(text)
    }
  }

  private readonly read = (chunk: Buffer | string): void => {
    const text = typeof chunk === 'string' ? chunk : this.decoder.write(chunk)
    const begin = this.pasted ? 0 : text.indexOf(pasteBegin)
    if (begin < 0) return void (text !== '' && this.buffer.process(text))
    if (begin > 0) this.buffer.process(text.slice(0, begin))
    const { pieces, tail } = (this.pasted ??= { pieces: [], tail: '' })
    const more = tail + (pieces.length === 0 && tail === '' ? text.slice(begin + pasteBegin.length) : text)
    const end = more.indexOf(pasteEnd)
    // The end mark may arrive in two pieces.
    const whole = end < 0 ? more.length - pasteEnd.length + 1 : end
    pieces.push(more.slice(0, Math.max(0, whole)))
    this.pasted.tail = more.slice(Math.max(0, whole))
    if (end < 0) return
    this.pasted = undefined
    this.on?.key(pasteBegin + pieces.join('') + pasteEnd)
    this.read(more.slice(end + pasteEnd.length))
  }

  private handleInput(data: string): void {
    const version = /^\u001bP>\|([^]*)\u001b\\$/.exec(data)?.[1]
    if (version !== undefined) this.on?.version(version)
    else if (/^\u001b\[\?1049;\d\$y$/.test(data)) data.includes(';1$') && this.on?.onSecond()
    else if (/^\u001b\[\?\d+u$/.test(data)) this.enableKitty(data !== '\u001b[?0u')
    // Drop other answers to queries.
    else if (!/^\u001b(?:\[[?>][\d;]*[A-Za-z]|[P\]_])/.test(data)) this.on?.key(data)
  }

  /** Enables the Kitty protocol. `stale`: a killed program left it enabled. */
  private enableKitty(stale: boolean): void {
    clearTimeout(this.timer)
    if (this.leaveSequence.startsWith(sequences.popKitty)) return
    if (stale) this.write(sequences.noKitty)
    this.leaveSequence = sequences.popKitty + this.leaveSequence
    setKittyProtocolActive(true)
    this.write(sequences.pushKitty(this.keyboard))
  }

  private enableOtherKeys(): void {
    this.leaveSequence = sequences.popOtherKeys + this.leaveSequence
    this.write(sequences.otherKeys)
  }

  private readonly onResize = (): void => this.on?.resize()
  private readonly onError = (): void => {}
}
