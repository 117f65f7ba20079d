/** A file as lines. Texts are bytes as characters (Latin-1), so that whatever the file holds comes back as it was. */
export class Lines {
  /** Without line ends. */
  readonly texts: string[]
  private readonly pieces: string[]
  private readonly length: number
  private readonly open: boolean
  private readonly crlf: boolean
  private starts: number[] | undefined

  constructor(bytes: Buffer) {
    const whole = bytes.toString('latin1')
    this.length = bytes.length
    const pieces = whole.split('\n')
    this.open = pieces.at(-1) !== ''
    if (!this.open) pieces.pop()
    this.crlf = whole.includes('\r\n')
    this.texts = this.crlf
      ? pieces.map((piece, at) => (piece.endsWith('\r') && this.isEnded(at, pieces) ? piece.slice(0, -1) : piece))
      : pieces
    this.pieces = pieces
  }

  /** `\n`, `\r\n`, or nothing: behind the last line, and where there is no line. */
  end(at: number): string {
    if (at < 0 || at >= this.texts.length || !this.isEnded(at, this.pieces)) return ''
    return this.pieces[at]!.length > this.texts[at]!.length ? '\r\n' : '\n'
  }

  /** Where a line begins in the bytes; behind the last, where the file ends. */
  offset(at: number): number {
    if (!this.starts) {
      let offset = 0
      this.starts = this.pieces.map((piece) => (offset += piece.length + 1) - piece.length - 1)
    }
    return this.starts[at] ?? this.length
  }

  /** The line end that most lines have. */
  get usualEnd(): string {
    if (!this.crlf) return '\n'
    let crlf = 0
    for (let at = 0; at < this.texts.length; at++) if (this.end(at) === '\r\n') crlf++
    return crlf * 2 > this.texts.length ? '\r\n' : '\n'
  }

  private isEnded(at: number, pieces: string[]): boolean {
    return at < pieces.length - 1 || !this.open
  }
}

/** Text of a patch in the same form. */
export const asBytes = (text: string): string => Buffer.from(text.replace(/\r$/, '')).toString('latin1')
