import type { Call, Next, Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Session } from '../../../core/contract/index.js'

/** Record of an earlier call of this session with the same mode and input. */
export interface RepeatRecord {
  /** Id of the first call. */
  first: string
  /** Number of identical results, counted only if a reader had time to read them. */
  times: number
  digest?: string
  /** End of the last call, in milliseconds since the epoch. */
  at: number
  /** Consecutive failures, and the number of successful calls of the session at that time. */
  failures: number
  code?: string
  successes: number
}
/** Refusal by a policy or a person. */
interface Refusal {
  message: string
  hint: string
  next?: Next
  byPerson: boolean
}

const MAX_RECORDS = 500

/** History of calls for the guard against repeated calls. */
export class Repeats {
  private readonly repeats = new Map<string, RepeatRecord>()
  private readonly refusals = new Map<string, Refusal>()
  private settings: unknown
  successes = 0

  find(call: Call): RepeatRecord | undefined {
    return this.repeats.get(createCallKey(call))
  }

  /**
   * Returns an earlier refusal of a call with this effect, under any name, while the settings are unchanged. Other
   * rules may decide differently.
   */
  findRefusal(call: Call, does: () => string, settings: unknown): Refusal | undefined {
    if (this.settings !== settings) this.refusals.clear()
    this.settings = settings
    return this.refusals.size === 0 ? undefined : this.refusals.get(createRefusalKey(call, does()))
  }

  private touchRecord(call: Call): RepeatRecord {
    const key = createCallKey(call)
    const seen = this.repeats.get(key) ?? { first: call.id, times: 0, at: 0, failures: 0, successes: 0 }
    this.repeats.delete(key)
    this.repeats.set(key, seen)
    if (this.repeats.size > MAX_RECORDS) this.repeats.delete(this.repeats.keys().next().value!)
    return seen
  }

  /** Records a failure. `does`: the effect of the call, by which it is compared. */
  recordFailure(
    call: Call,
    does: () => string,
    { code, message, hint, details, next }: (Result & { ok: false })['error'],
  ): void {
    if (code.startsWith('VT_POLICY_')) {
      // A call that found no person to ask may find one next time.
      const byPerson = details?.refused === true
      if (code === 'VT_POLICY_DENIED' || byPerson)
        this.refusals.set(createRefusalKey(call, does()), { message, hint, byPerson, ...(next && { next }) })
      if (this.refusals.size > MAX_RECORDS) this.refusals.delete(this.refusals.keys().next().value!)
      return
    }
    const seen = this.touchRecord(call)
    seen.at = Date.now()
    seen.failures = seen.code === code && seen.successes === this.successes ? seen.failures + 1 : 1
    seen.code = code
    seen.successes = this.successes
  }

  /**
   * Records a result; returns the record with the number of identical results. Results within `reading` ms are for a
   * program, which repeats calls on purpose.
   */
  recordSuccess(call: Call, result: Result & { ok: true }, reading: number): RepeatRecord {
    this.successes += 1
    const seen = this.touchRecord(call)
    seen.failures = 0
    if (call.effects.some((effect) => effect === 'write' || effect === 'exec')) {
      // The call may have changed files: results may differ now, and a policy that reads files may decide differently.
      for (const other of this.repeats.values()) other.times = 0
      for (const [key, { byPerson }] of this.refusals) if (!byPerson) this.refusals.delete(key)
      return seen
    }
    const digest = hashResult(result)
    if (seen.digest !== digest) seen.times = 1
    else if (call.at - seen.at >= reading) seen.times += 1
    seen.digest = digest
    seen.at = Date.now()
    return seen
  }
}

export const getRepeats = (session: Session): Repeats => session.state('repeats', () => new Repeats())

const createRefusalKey = (call: Call, does: string): string => `${createRightsKey(call)} ${call.slot} ${does}`
const createCallKey = ({ mode, slot, input }: Call): string =>
  `${mode} ${slot} ${JSON.stringify(Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1)))}`

/** A refusal counts only for calls with the same rights and alias. */
const createRightsKey = ({ mode, only, caller: { alias = '' } }: Call): string =>
  only ? [mode, alias, ...only.map((left) => sha256(JSON.stringify(left), 'base64'))].join(' ') : mode

/** Durations are no part of a result. */
const dropTimes = (key: string, value: unknown): unknown => (key.endsWith('_ms') ? undefined : value)

function hashResult({ output, text = '' }: Result & { ok: true }): string {
  const json = JSON.stringify(output)
  const whole = `${json.includes('_ms":') ? JSON.stringify(output, dropTimes) : json}${text}`
  // A short text is its own key: a digest would cost more.
  return whole.length <= MAX_PLAIN_LENGTH ? whole : sha256(whole, 'base64')
}
const MAX_PLAIN_LENGTH = 256
