import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../../../core/shapes/index.js'
import { readMonotonicClock } from '../../lib/base/index.js'
import { AgentError } from '../base/index.js'

/** State of a lease in the file that a worker renews as the server renews its lease. */
export interface LeaseState {
  number: number
  /** End of the lease in milliseconds of `readMonotonicClock`. */
  until: number
  /** Number of completed steps that the server has. */
  saved: number
}
/** Variable with the number and the file of the lease of a run. */
export const LEASE_VARIABLE = 'VTCODE_LEASE'
const POLL_MS = 5
const WATCH_MS = 250

/** Refuses writes without the current lease: of a worker that was stopped, or replaced by another one. */
export class LeaseFence {
  constructor(
    readonly number: number,
    private readonly file: string,
  ) {}

  /** Returns the state of the lease. Throws VT_QUEUE_LOST if the lease is over or has a greater number. */
  check(): LeaseState {
    const state = this.read()
    if (state?.number === this.number && readMonotonicClock() < state.until) return state
    const why = state && state.number > this.number ? `lease ${state.number} replaced it` : 'it was not renewed'
    throw new AgentError('VT_QUEUE_LOST', `Lease ${this.number} of this run is over: ${why}.`)
  }

  /** Waits until the server has this number of steps. Throws VT_QUEUE_LOST. */
  async waitForSave(steps: number): Promise<void> {
    while (this.check().saved < steps) await sleep(POLL_MS)
  }

  /** Returns a signal that aborts when the lease is over, also during a long call. */
  watch(): AbortSignal {
    const over = new AbortController()
    const timer = setInterval(() => {
      try {
        this.check()
      } catch (error) {
        clearInterval(timer)
        over.abort(error)
      }
    }, WATCH_MS).unref()
    return over.signal
  }

  private read(): LeaseState | undefined {
    try {
      const state: unknown = JSON.parse(readFileSync(this.file, 'utf8'))
      return isObject(state) ? (state as unknown as LeaseState) : undefined
    } catch {
      return undefined
    }
  }
}

/** Returns the fence of a run that a worker started; `undefined` for other runs. */
export function readLeaseVariable(env: Readonly<Record<string, string | undefined>>): LeaseFence | undefined {
  const [, number, file] = /^(\d+):(.+)$/s.exec(env[LEASE_VARIABLE] ?? '') ?? []
  return file === undefined ? undefined : new LeaseFence(Number(number), file)
}
