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
/** Contract: keeps no chunk, it may be overwritten; a promise holds the next one back until it settles; neither throws nor rejects. */
export type OutputSink = (stream: Stream, chunk: Buffer) => Promise<void> | undefined

/** One started program, however we are connected to it. */
export interface Transport {
  readonly backend: 'pipe' | 'pty'
  /** Leader of a process group of its own. */
  readonly pid: number
  readonly exited: Promise<Exit>
  /** Everything that the program wrote before it ended has gone to the sink. */
  readonly drained: Promise<void>
  /** False once input was ended or the program's end of it is gone. */
  writable(): boolean
  write(data: Buffer): void
  /** End of file; in a terminal the key that means it. */
  end(): void
  resize?(size: Size): void
  /** Lets go of our ends, so that nobody who still holds the others prolongs anything. */
  release(): void
  /** The private line of a snippet, descriptor 3 of the program. */
  readonly channel?: Duplex
}
