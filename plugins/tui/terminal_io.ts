import { writeSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setKittyProtocolActive, StdinBuffer } from './parts.js'
import { sequences } from './terminal_modes.js'
import type { KeyboardProtocolSettings, SessionOptions } from './types.js'

/** Who hears from a terminal; `place`: in which row, from 1, its cursor was when it was opened. */
export interface PortReader {
  key(data: string): void
  resize(): void
  place(row: number): void
}
/** A terminal, as far as a session needs one. */
export interface TerminalPort {
  readonly columns: number
  readonly rows: number
  /** Contract: never throws; a terminal that is gone takes nothing. */
  write(text: string): void
  /** From now on keys come as they are pressed, one at a time. */
  open(on: PortReader): void
  /** The terminal as it was before `open`, at once, with these rows on it; may be called twice, and `open` again after it. */
  restore(rows?: readonly string[]): void
}

/** A terminal that has not said by then that it knows the Kitty protocol is asked for the older way; who answers later is heard too. */
const answer_ms = 150

/** The terminal behind two streams. */
export class TtyPort implements TerminalPort {
  private readonly buffer = new StdinBuffer({ timeout: 25 })
  private decoder = new StringDecoder('utf8')
  private on: PortReader | undefined
  private asked = false
  private was_raw = false
  private left = ''
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly streams: Pick<SessionOptions, 'stdin' | 'output'>,
    private readonly keyboard: KeyboardProtocolSettings,
    /** What is set before all else, and taken back after it. */
    private readonly around: { enter: string; leave: string } = { enter: '', leave: '' },
  ) {
    this.buffer.on('data', (data) => this.key(data))
    this.buffer.on('paste', (text) => this.on?.key(`\u001b[200~${text}\u001b[201~`))
  }

  // A terminal that says no size is taken for the usual one.
  get columns(): number {
    return this.size[0] || 80
  }
  get rows(): number {
    return this.size[1] || 24
  }
  /** As it is now: the signal that says so comes later, and a frame for another width would draw over what is finished. */
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
      // Whoever reads is gone; the signal that says so comes by itself.
    }
  }

  open(on: PortReader): void {
    const { stdin, output } = this.streams
    this.on = on
    this.was_raw = stdin.isRaw ?? false
    stdin.setRawMode?.(true)
    stdin.on('data', this.read)
    stdin.resume()
    output.on('resize', this.resized)
    output.on('error', this.gone)
    this.left = sequences.leave + this.around.leave
    this.asked = true
    this.write(this.around.enter + sequences.enter + sequences.where + (this.keyboard.enabled ? sequences.query : ''))
    if (this.keyboard.enabled) this.timer = setTimeout(() => this.fallBack(), answer_ms).unref()
  }

  restore(rows: readonly string[] = []): void {
    if (!this.on) return
    const { stdin, output } = this.streams
    this.on = undefined
    clearTimeout(this.timer)
    stdin.off('data', this.read)
    output.off('resize', this.resized)
    setKittyProtocolActive(false)
    this.writeNow(this.left + rows.map((row) => `${row}\r\n`).join(''))
    stdin.setRawMode?.(this.was_raw)
    stdin.pause()
    this.buffer.clear()
    this.decoder = new StringDecoder('utf8')
  }

  /** What has to be there before the process ends, whatever it ends by. */
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
    if (text !== '') this.buffer.process(text)
  }

  private key(data: string): void {
    const row = /^\u001b\[(\d+);\d+R$/.exec(data)?.[1]
    if (row !== undefined && this.asked) this.on?.place(Number(row))
    if (row !== undefined) this.asked = false
    else if (/^\u001b\[\?\d+u$/.test(data)) this.kitty()
    // Other answers to queries, which nobody typed.
    else if (!/^\u001b(?:\[[?>][\d;]*[A-Za-z]|[P\]_])/.test(data)) this.on?.key(data)
  }

  private kitty(): void {
    clearTimeout(this.timer)
    if (this.left.startsWith(sequences.popKitty)) return
    this.left = sequences.popKitty + this.left
    setKittyProtocolActive(true)
    this.write(sequences.pushKitty(this.keyboard))
  }

  private fallBack(): void {
    this.left = sequences.popOtherKeys + this.left
    this.write(sequences.otherKeys)
  }

  private readonly resized = (): void => this.on?.resize()
  private readonly gone = (): void => {}
}
