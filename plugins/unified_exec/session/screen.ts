import type { Terminal as XTerm } from '@xterm/headless'
import type { CommandSession } from './session.js'
import type { Size } from './transport.js'

/** The screen of a terminal: one string a row, and the position of the cursor, 1-based. */
export interface Picture {
  rows: string[]
  cursor_row: number
  cursor_col: number
}

/** Opens the screen of a session's terminal, drawn from its log and updated from then on. */
export function openScreen(session: CommandSession): Promise<Screen> {
  return (session.screen ??= Screen.open(session, session.stdout.total)) as Promise<Screen>
}

/**
 * Opens a screen when a program queries the terminal, for example the cursor position, because it waits for the answer.
 */
export function answerQueries(session: CommandSession): void {
  const stop = session.watch((_, chunk) => {
    if (!TERMINAL_QUERIES.test(chunk.toString('latin1'))) return
    stop()
    session.screen ??= Screen.open(session, session.stdout.total)
  })
}

// Device attributes, device status, modes and versions: the queries that xterm answers.
const TERMINAL_QUERIES = /\x1b\[(?:[>=]?0?c|\??[56]n|\?\d+\$p|>0?q)/

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

  /** Opens a screen. Queries before position `old` had no screen: they are drawn and not answered. */
  static async open(session: CommandSession, old: number): Promise<Screen> {
    const { default: xterm } = await import('@xterm/headless')
    const screen = new Screen(new xterm.Terminal({ ...session.size!, allowProposedApi: true, scrollback: 0 }), session)
    const now = session.stdout.total
    // Chunks that come while the past is read are drawn after it.
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

  /** Returns whether the program asked for bracketed paste. */
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
