import type { JsonObject } from '../../../core/shapes/index.js'
import { addSignature, hasSignature } from './signature.js'
import type { JobLease } from './types.js'

/** The restorable state of a run at the end of a step. */
export interface SavedState {
  /** SHA-256 of the archive of the session. */
  session: string
  /** SHA-256 of the patch; absent if no file changed. */
  patch?: string
}
/** Content of a line in the log of a job. */
export type LineBody =
  /** The first line of each lease. Lines of earlier leases that follow do not count. */
  { kind: 'begin'; worker: string } | { kind: 'event'; event: JsonObject } | { kind: 'saved'; saved: SavedState }
/** Position of a line: its lease, then its number within the lease. */
export interface LinePosition {
  lease: number
  /** From 1. */
  seq: number
}
/** A signed line. `job_sig` is the signature of its job: a line of an earlier job with the same id does not count. */
export type JobLine = { job_sig: string } & LinePosition & LineBody

const MAX_EVENT_CHARS = 256 * 1024
const MAX_EVENTS = 20_000

/** Writes the lines of one lease. */
export class LineWriter {
  private seq = 0

  constructor(
    private readonly secret: string,
    private readonly job_sig: string,
    private readonly lease: Pick<JobLease, 'number' | 'log'>,
  ) {}

  async write(body: LineBody): Promise<void> {
    this.seq += 1
    const line = { job_sig: this.job_sig, lease: this.lease.number, seq: this.seq, ...this.shorten(body) }
    await this.lease.log(JSON.stringify(addSignature(this.secret, 'line', line)))
  }

  /** Replaces an event that is too long for a log; the archive of the session has every event whole. */
  private shorten(body: LineBody): LineBody {
    if (body.kind !== 'event') return body
    const chars = this.seq > MAX_EVENTS ? MAX_EVENT_CHARS + 1 : JSON.stringify(body.event).length
    return chars <= MAX_EVENT_CHARS ? body : { kind: 'event', event: { type: 'omitted', of: body.event['type'] } }
  }
}

/**
 * Filters the lines of a log: only signed lines of this job count, and none of an older lease after the first line of a
 * newer one. A worker that lost its job may still write; its lines stay without effect for every reader alike.
 */
export class LineFilter {
  private at: LinePosition = { lease: 0, seq: 0 }

  constructor(
    private readonly secret: string,
    private readonly job_sig: string,
  ) {}

  /** Position of the last line that counted. */
  get last(): LinePosition {
    return this.at
  }

  /** Returns the line if the line counts. */
  take(text: string): JobLine | undefined {
    const line = this.parse(text)
    if (!line || line.job_sig !== this.job_sig) return undefined
    const { lease, seq } = line
    const isNext = lease > this.at.lease ? line.kind === 'begin' : lease === this.at.lease && seq > this.at.seq
    if (!isNext) return undefined
    this.at = { lease, seq }
    return line
  }

  private parse(text: string): JobLine | undefined {
    try {
      const line: unknown = JSON.parse(text)
      return hasSignature(this.secret, 'line', line) ? (line as unknown as JobLine) : undefined
    } catch {
      return undefined
    }
  }
}

/** Returns whether a position comes after another one. */
export const isAfter = (one: LinePosition, other: LinePosition): boolean =>
  one.lease > other.lease || (one.lease === other.lease && one.seq > other.seq)
