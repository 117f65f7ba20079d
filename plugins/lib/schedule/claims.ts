import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { makeFolder, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { isHolderAlive, isHolder, type Holder } from '../state/index.js'

/**
 * Claim of a run. It is on disk before the schedule moves on, and is removed when the state holds the end of the run.
 */
export interface RunClaim {
  v: 1
  /** 8 hexadecimal digits each. */
  run: string
  task: string
  base: string
  attempt: 1 | 2
  /** Started by a person: its base time is not a time of the schedule. */
  manual?: true
  begun_at: string
  /** Folder of the run. */
  dir: string
  holder: Holder
}

/** Interval at which a holder renews its claim, and age after which a claim counts as dead. */
export const HEARTBEAT = { every_ms: 15_000, dead_ms: 15 * 60_000 }
const CLAIM_NAME = /^([0-9a-f]{8})\.([0-9a-f]{8})\.json$/

/** Claims of all processes that serve the same schedules. `elapsed`: milliseconds of a monotonic clock. */
export class Claims {
  /** Last heartbeat of each run, with the time of our own clock. The age of a file proves nothing if clocks jump. */
  private readonly lastBeats = new Map<string, { beat: number; at: number }>()

  constructor(
    private readonly folder: string,
    private readonly elapsed: () => number,
  ) {
    makeFolder(folder, 0o700)
  }

  list(): RunClaim[] {
    return readdirSync(this.folder).flatMap((name) =>
      CLAIM_NAME.test(name) ? (this.read(name) ?? []) : this.removeStale(name),
    )
  }

  listByTask(task: string): RunClaim[] {
    return readdirSync(this.folder).flatMap((name) =>
      name.startsWith(`${task}.`) && CLAIM_NAME.test(name) ? (this.read(name) ?? []) : [],
    )
  }

  write(claim: RunClaim): void {
    writeStateSync(this.resolveFile(claim), JSON.stringify(claim))
  }

  exists(claim: RunClaim): boolean {
    return statSync(this.resolveFile(claim), { throwIfNoEntry: false }) !== undefined
  }

  remove(claim: RunClaim): void {
    rmSync(this.resolveFile(claim), { force: true })
    rmSync(this.resolveCancelFile(claim), { force: true })
    this.lastBeats.delete(claim.run)
  }

  beat(claim: RunClaim): void {
    try {
      const now = new Date()
      utimesSync(this.resolveFile(claim), now, now)
    } catch {
      // Another process removed the claim as dead; the end of the run finds that out.
    }
  }

  /** Asks the holder of a run to end it. */
  cancel(claim: RunClaim): void {
    writeFileSync(this.resolveCancelFile(claim), '', { mode: 0o600 })
  }

  isCancelled(claim: RunClaim): boolean {
    return statSync(this.resolveCancelFile(claim), { throwIfNoEntry: false }) !== undefined
  }

  isDead(claim: RunClaim): boolean {
    if (!isHolderAlive(claim.holder)) return true
    const beat = statSync(this.resolveFile(claim), { throwIfNoEntry: false })?.mtimeMs ?? 0
    const known = this.lastBeats.get(claim.run)
    if (known?.beat === beat) return this.elapsed() - known.at >= HEARTBEAT.dead_ms
    this.lastBeats.set(claim.run, { beat, at: this.elapsed() })
    return false
  }

  private resolveFile({ task, run }: RunClaim): string {
    return join(this.folder, `${task}.${run}.json`)
  }

  private resolveCancelFile({ task, run }: RunClaim): string {
    return join(this.folder, `${task}.${run}.cancel`)
  }

  /** Removes a temporary file of a killed process when it is old enough to be unused. */
  private removeStale(name: string): [] {
    const file = join(this.folder, name)
    const changed = /\.json\.\d+$/.test(name)
      ? (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity)
      : Infinity
    if (Date.now() - changed > HEARTBEAT.dead_ms) rmSync(file, { force: true })
    return []
  }

  /** Reads a claim. Removes an invalid file, because no process could end it. */
  private read(name: string): RunClaim | undefined {
    const file = join(this.folder, name)
    const [, task, run] = CLAIM_NAME.exec(name)!
    try {
      const value: unknown = JSON.parse(readBytes(file, { real: (path) => path }).toString())
      if (isObject(value) && value['task'] === task && value['run'] === run && isClaim(value))
        return value as unknown as RunClaim
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    }
    rmSync(file, { force: true })
    return undefined
  }
}

const isClaim = ({ dir, base, holder }: Record<string, unknown>): boolean =>
  typeof dir === 'string' && !Number.isNaN(Date.parse(base as string)) && isHolder(holder)
