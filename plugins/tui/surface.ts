import type { SessionOptions } from './types.js'

/** Position of the cursor: row of the live part and column, both 0-based. */
export interface CursorPosition {
  row: number
  column: number
}
/** Target of frames: below the history of the shell, or the second screen. */
export interface ScreenSurface {
  /** Maximum rows of the live part. */
  readonly room: number
  /** True if finished rows are needed again for another width. */
  readonly stale: boolean
  /** True if the cursor rests at the start of the live part while the person does not type. */
  readonly restsCursor: boolean
  reset(): void
  /** Draws finished rows and, below them, the live part. Returns the number of bytes written. */
  drawFrame(finished: readonly string[], live: readonly string[], cursor?: CursorPosition): number
  /** Makes the next frame draw the whole live part. */
  clear(): void
  /** Forgets the live part, which is gone; the cursor is at its start. */
  forgetDrawn(): void
  /** Handles a possible change of size. */
  handleResize(): void
  /** Sets the version that the terminal reports, such as `tmux 3.4`. */
  setTerminalVersion(version: string): void
  /** Handles a key. Returns whether the surface used it; `free`: the editor is empty. */
  handleKey(data: string, free: boolean): boolean
  /** Returns rows to write when the terminal shows its first screen again. */
  remainingRows(): readonly string[]
}

const MIN_SIZE = { columns: 20, rows: 6 }

/** Returns the reason why a session cannot use the terminal, or `undefined`. */
export function findTerminalFault({
  stdin,
  output,
  env,
}: Pick<SessionOptions, 'stdin' | 'output' | 'env'>): string | undefined {
  if (stdin.isTTY !== true) return 'stdin is not a terminal'
  if (output.isTTY !== true) return 'the output is not a terminal'
  if (env['TERM'] === 'dumb' || env['TERM'] === '')
    return `TERM is '${env['TERM']}': the terminal cannot move its cursor`
  const { columns = 80, rows = 24 } = output
  if (columns < MIN_SIZE.columns || rows < MIN_SIZE.rows)
    return (
      `the terminal has ${columns} columns and ${rows} rows; ` +
      `at least ${MIN_SIZE.columns} and ${MIN_SIZE.rows} are needed`
    )
  return undefined
}
