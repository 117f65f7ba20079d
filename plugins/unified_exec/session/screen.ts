import type { Terminal as XTerm } from '@xterm/headless'
import type { CommandSession } from './session.js'
import type { Size } from './transport.js'

/** What a terminal shows now: one string a row, and where the cursor stands, 1-based. */
export interface Picture {
  rows: string[]
  cursor_row: number
  cursor_col: number
}

/** The screen of a session's terminal, drawn from its log and kept up to date from then on. */
export function screenOf(session: CommandSession): Promise<Screen> {
  return (session.screen ??= Screen.open(session, session.stdout.total)) as Promise<Screen>
}

/** Programs ask terminals who they are and where the cursor is, and wait for the answer: then there has to be a screen to give it. */
export function answerQueries(session: CommandSession): void {
  const stop = session.watch((_, chunk) => {
    if (!queries.test(chunk.toString('latin1'))) return
    stop()
    session.screen ??= Screen.open(session, session.stdout.total)
  })
}

// Device attributes, device status, mode and version reports: what xterm answers.
const queries = /\x1b\[(?:[>=]?0?c|\??[56]n|\?\d+\$p|>0?q)/

export class Screen {
  private answering = false
  private drawn: Promise<void> = Promise.resolve()

  private constructor(
    private readonly terminal: XTerm,
    session: CommandSession,
  ) {
    terminal.onData((reply) => {
      if (this.answering && session.running && session.transport.writable()) session.transport.write(Buffer.from(reply))
    })
  }

  /** Questions before position `old` were asked of nobody: they are drawn and not answered. */
  static async open(session: CommandSession, old: number): Promise<Screen> {
    const { default: xterm } = await import('@xterm/headless')
    const screen = new Screen(new xterm.Terminal({ ...session.size!, allowProposedApi: true, scrollback: 0 }), session)
    const now = session.stdout.total
    // Drawn in order: chunks that come while the past is read wait for it.
    const past = Promise.all([session.stdout.read(0, old), session.stdout.read(old, now)])
    session.watch((_, chunk) => screen.draw(Buffer.from(chunk)))
    screen.drawn = past.then(async ([before, since]) => {
      await screen.write(before)
      screen.answering = true
      await screen.write(since)
    })
    return screen
  }

  async picture(): Promise<Picture> {
    await this.drawn
    const { buffer, rows } = this.terminal
    const { active } = buffer
    const lines = Array.from(
      { length: rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '',
    )
    return { rows: lines, cursor_row: active.cursorY + 1, cursor_col: active.cursorX + 1 }
  }

  /** Whether the program wants to know what is pasted. */
  async pastes(): Promise<boolean> {
    await this.drawn
    return this.terminal.modes.bracketedPasteMode
  }

  resize({ rows, cols }: Size): void {
    this.terminal.resize(cols, rows)
  }

  close(): void {
    this.terminal.dispose()
  }

  private draw(chunk: Buffer): void {
    this.drawn = this.drawn.then(() => this.write(chunk))
  }

  private write(data: Buffer): Promise<void> {
    return new Promise((resolve) => this.terminal.write(data, resolve))
  }
}
