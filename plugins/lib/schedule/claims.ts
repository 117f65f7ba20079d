import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { makeFolder, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { holderLives, isHolder, type Holder } from '../state/index.js'

/** A run that somebody does. It is on disk before the schedule moves on, and goes when the state knows the end of the run. */
export interface RunClaim {
  v: 1
  /** 8 hexadecimal digits each. */
  run: string
  task: string
  base: string
  attempt: 1 | 2
  /** A person began it: its base time is no time of the schedule. */
  manual?: true
  begun_at: string
  /** The folder of the run. */
  dir: string
  holder: Holder
}

/** Whoever does a run says so this often; who says nothing for so long is taken for dead. */
export const heartbeat = { every_ms: 15_000, dead_ms: 15 * 60_000 }
const named = /^([0-9a-f]{8})\.([0-9a-f]{8})\.json$/

/** The claims of all processes that serve the same schedules. `elapsed`: milliseconds of a clock that nobody sets. */
export class Claims {
  /** When each heart was seen to beat last, by our own clock: how old the file says it is proves nothing where clocks jump. */
  private readonly seen = new Map<string, { beat: number; at: number }>()

  constructor(
    private readonly folder: string,
    private readonly elapsed: () => number,
  ) {
    makeFolder(folder, 0o700)
  }

  all(): RunClaim[] {
    return readdirSync(this.folder).flatMap((name) => (named.test(name) ? (this.read(name) ?? []) : this.sweep(name)))
  }

  of(task: string): RunClaim[] {
    return readdirSync(this.folder).flatMap((name) =>
      name.startsWith(`${task}.`) && named.test(name) ? (this.read(name) ?? []) : [],
    )
  }

  write(claim: RunClaim): void {
    writeStateSync(this.fileOf(claim), JSON.stringify(claim))
  }

  exists(claim: RunClaim): boolean {
    return statSync(this.fileOf(claim), { throwIfNoEntry: false }) !== undefined
  }

  remove(claim: RunClaim): void {
    rmSync(this.fileOf(claim), { force: true })
    rmSync(this.markOf(claim), { force: true })
    this.seen.delete(claim.run)
  }

  beat(claim: RunClaim): void {
    try {
      const now = new Date()
      utimesSync(this.fileOf(claim), now, now)
    } catch {
      // Somebody took it for dead; the end of the run finds that out.
    }
  }

  /** Asks whoever does the run to end it. */
  cancel(claim: RunClaim): void {
    writeFileSync(this.markOf(claim), '', { mode: 0o600 })
  }

  isCancelled(claim: RunClaim): boolean {
    return statSync(this.markOf(claim), { throwIfNoEntry: false }) !== undefined
  }

  isDead(claim: RunClaim): boolean {
    if (!holderLives(claim.holder)) return true
    const beat = statSync(this.fileOf(claim), { throwIfNoEntry: false })?.mtimeMs ?? 0
    const known = this.seen.get(claim.run)
    if (known?.beat === beat) return this.elapsed() - known.at >= heartbeat.dead_ms
    this.seen.set(claim.run, { beat, at: this.elapsed() })
    return false
  }

  private fileOf({ task, run }: RunClaim): string {
    return join(this.folder, `${task}.${run}.json`)
  }

  private markOf({ task, run }: RunClaim): string {
    return join(this.folder, `${task}.${run}.cancel`)
  }

  /** What somebody wrote who was killed before it had its name goes once nobody can be at it. */
  private sweep(name: string): [] {
    const file = join(this.folder, name)
    const changed = /\.json\.\d+$/.test(name)
      ? (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity)
      : Infinity
    if (Date.now() - changed > heartbeat.dead_ms) rmSync(file, { force: true })
    return []
  }

  /** What is no claim goes: nobody could end it. */
  private read(name: string): RunClaim | undefined {
    const file = join(this.folder, name)
    const [, task, run] = named.exec(name)!
    try {
      const value: unknown = JSON.parse(readBytes(file, { real: (path) => path }).toString())
      if (isObject(value) && value['task'] === task && value['run'] === run && isWhole(value))
        return value as unknown as RunClaim
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    }
    rmSync(file, { force: true })
    return undefined
  }
}

const isWhole = ({ dir, base, holder }: Record<string, unknown>): boolean =>
  typeof dir === 'string' && !Number.isNaN(Date.parse(base as string)) && isHolder(holder)
