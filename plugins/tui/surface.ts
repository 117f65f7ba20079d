import type { SessionOptions } from './types.js'

/** Where the cursor of the terminal is to stand: in which row of the live part, and behind how many columns. */
export interface CursorPosition {
  row: number
  column: number
}
/** Where frames are drawn: below the history of the shell, or on the second screen. */
export interface ScreenSurface {
  /** Rows that the live part may take. */
  readonly room: number
  /** What is finished has to come again, for another width. */
  readonly stale: boolean
  /** The cursor stands at the begin of the live part while nobody types. */
  readonly restsCursor: boolean
  reset(): void
  /** Shows what is finished and, below it, the live part. Returns how many bytes were written. */
  drawFrame(finished: readonly string[], live: readonly string[], cursor?: CursorPosition): number
  /** The live part is drawn as a whole the next time. */
  clear(): void
  /** What was drawn is nowhere any more; the cursor stands where to begin. */
  forgetDrawn(): void
  /** The terminal has, or had, another size. */
  handleResize(): void
  /** The terminal says which one it is, such as `tmux 3.4`. */
  setTerminalVersion(version: string): void
  /** Returns whether the key was for the surface; `free`: nobody writes a message. */
  handleKey(data: string, free: boolean): boolean
  /** What is left to write when the terminal shows its first screen again. */
  remainingRows(): readonly string[]
}

const MIN_SIZE = { columns: 20, rows: 6 }

/** Why a session cannot be drawn there; nothing where it can. */
export function findTerminalFault({
  stdin,
  output,
  env,
}: Pick<SessionOptions, 'stdin' | 'output' | 'env'>): string | undefined {
  if (stdin.isTTY !== true) return 'stdin is no terminal'
  if (output.isTTY !== true) return 'the output is no terminal'
  if (env['TERM'] === 'dumb' || env['TERM'] === '')
    return `TERM is '${env['TERM']}': the terminal cannot move its cursor`
  const { columns = 80, rows = 24 } = output
  if (columns < MIN_SIZE.columns || rows < MIN_SIZE.rows)
    return `the terminal has ${columns} columns and ${rows} rows, and at least ${MIN_SIZE.columns} and ${MIN_SIZE.rows} are needed`
  return undefined
}
