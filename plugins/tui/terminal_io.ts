import { writeSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setKittyProtocolActive, StdinBuffer } from './parts.js'
import { sequences } from './terminal_modes.js'
import type { KeyboardProtocolSettings, SessionOptions } from './types.js'

/** Who hears from a terminal; `version`: what it calls itself, where it says so; `onSecond`: it shows its second screen, where it was asked. */
export interface TerminalListener {
  key(data: string): void
  resize(): void
  version(name: string): void
  onSecond(): void
}
/** A terminal, as far as a session needs one. */
export interface TerminalPort {
  readonly columns: number
  readonly rows: number
  /** Contract: never throws; a terminal that is gone takes nothing. */
  write(text: string): void
  /** From now on keys come as they are pressed, one at a time. */
  open(on: TerminalListener): void
  /** The terminal as it was before `open`, at once, with these rows on it; may be called twice, and `open` again after it. */
  restore(rows?: readonly string[]): void
}

/** A terminal that has not said by then that it knows the Kitty protocol is asked for the older way; who answers later is heard too. */
const KITTY_ANSWER_MS = 150

const [pasteBegin, pasteEnd] = ['\u001b[200~', '\u001b[201~']

/** The terminal behind two streams. */
export class TtyPort implements TerminalPort {
  private readonly buffer = new StdinBuffer({ timeout: 25 })
  private decoder = new StringDecoder('utf8')
  private on: TerminalListener | undefined
  private wasRaw = false
  private leaveSequence = ''
  private timer: NodeJS.Timeout | undefined
  /** What is being pasted, however long, and of it what may be the begin of its end. */
  private pasted: { pieces: string[]; tail: string } | undefined

  constructor(
    private readonly streams: Pick<SessionOptions, 'stdin' | 'output'>,
    private readonly keyboard: KeyboardProtocolSettings,
    /** What is set before all else, and taken back after it. */
    private readonly modes: { enter: string; leave: string } = { enter: '', leave: '' },
  ) {
    this.buffer.on('data', (data) => this.handleInput(data))
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
    const begin = this.pasted ? 0 : text.indexOf(pasteBegin)
    if (begin < 0) return void (text !== '' && this.buffer.process(text))
    if (begin > 0) this.buffer.process(text.slice(0, begin))
    const { pieces, tail } = (this.pasted ??= { pieces: [], tail: '' })
    const more = tail + (pieces.length === 0 && tail === '' ? text.slice(begin + pasteBegin.length) : text)
    const end = more.indexOf(pasteEnd)
    // Its end may come in two pieces.
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
    // Other answers to queries, which nobody typed.
    else if (!/^\u001b(?:\[[?>][\d;]*[A-Za-z]|[P\]_])/.test(data)) this.on?.key(data)
  }

  /** `stale`: keys come in the new way already, which a program that was killed has left so. */
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
