import type { Stats } from 'node:fs'
import type { Duplex } from 'node:stream'

export type Stream = 'stdout' | 'stderr'

export interface Size {
  rows: number
  cols: number
}
export interface Exit {
  /** `null` when a signal ended the program. */
  exit_code: number | null
  signal: string | null
}
/**
 * Takes a chunk, which may be overwritten afterwards. The next chunk waits for the returned promise. Neither throws nor
 * rejects.
 */
export type OutputSink = (stream: Stream, chunk: Buffer) => Promise<void> | undefined

/** One started program, on pipes or in a terminal. */
export interface Transport {
  readonly backend: 'pipe' | 'pty'
  /** The leader of its own process group. */
  readonly pid: number
  readonly exited: Promise<Exit>
  /** Settles when all output before the end has gone to the sink. */
  readonly drained: Promise<void>
  /** The file that the program got as its input, if we can write it and the system describes it. */
  readonly input?: Stats | undefined
  /** Returns false once the input was closed by either side. */
  writable(): boolean
  write(data: Buffer): void
  /** Sends the end of file; in a terminal, its key. */
  end(): void
  resize?(size: Size): void
  /** Closes our ends, so that other holders cannot delay us. */
  release(): void
  /** The private pipe of a snippet, descriptor 3 of the program. */
  readonly channel?: Duplex
}
