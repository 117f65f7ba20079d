import { readMonotonicClock } from '../base/index.js'
import { createLostError } from './errors.js'
import type { HandleJob, JobLease, JobRecord, JobWorker, WorkOptions } from './types.js'

/** A job of the engine in this process. */
export interface MemoryEntry extends JobRecord {
  lines: string[]
  /** Ends the running job. */
  cancel?: AbortController
}
const LEASE_MS = 24 * 3_600_000

/** Performs jobs of this process. A lease ends only when the worker ends. */
export class MemoryWorker implements JobWorker {
  readonly name: string
  open = true
  private readonly running = new Map<MemoryEntry, Promise<void>>()

  constructor(
    readonly queue: string,
    private readonly handle: HandleJob,
    private readonly options: WorkOptions,
    private readonly next: () => MemoryEntry | undefined,
    private readonly notify: () => void,
  ) {
    this.name = options.name
  }

  get active(): number {
    return this.running.size
  }

  /** Starts waiting jobs up to the limit. */
  fill(): void {
    while (this.open && this.running.size < this.options.concurrency) {
      const entry = this.next()
      if (!entry) return
      entry.state = 'active'
      entry.leases += 1
      const performed = this.perform(entry).finally(() => {
        this.running.delete(entry)
        this.notify()
      })
      this.running.set(entry, performed)
    }
  }

  private async perform(entry: MemoryEntry): Promise<void> {
    const { signal } = (entry.cancel = new AbortController())
    const { lines: _, cancel: __, ...record } = entry
    const settle = (end: Partial<MemoryEntry>): void => void Object.assign(entry, end)
    const log = async (line: string): Promise<void> => {
      if (entry.state !== 'active' || entry.leases !== record.leases) throw createLostError()
      entry.lines.push(line)
      this.notify()
    }
    const lease: JobLease = { number: entry.leases, signal, log, until: readMonotonicClock() + LEASE_MS }
    try {
      const result = await this.handle(structuredClone(record), lease)
      settle(signal.aborted ? toAbortedEnd(signal) : { state: 'completed', result })
    } catch (error) {
      settle(signal.aborted ? toAbortedEnd(signal) : { state: 'failed', reason: toReason(error) })
    }
  }

  async drain(): Promise<void> {
    this.open = false
    await Promise.all(this.running.values())
  }

  stop(): Promise<void> {
    for (const { cancel } of this.running.keys()) cancel?.abort('stopped')
    return this.drain()
  }
}

const toAbortedEnd = ({ reason }: AbortSignal): Partial<MemoryEntry> =>
  reason === 'stopped' ? { state: 'waiting' } : { state: 'cancelled' }

/** Returns the reason of a failure with its code. */
export const toReason = (error: unknown): string => {
  const { message, code } = error as Error & { code?: unknown }
  return typeof code === 'string' && code.startsWith('VT_') ? `${code}: ${message}` : message
}
