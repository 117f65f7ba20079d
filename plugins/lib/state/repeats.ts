import type { Call, Next, Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import type { Session } from '../../../core/contract/index.js'

/** What is remembered of a call that was made before in this session, in this mode, with this very input. */
export interface Seen {
  /** Id of the first one. */
  first: string
  /** How often the same answer came, slowly enough for a reader to have read it. */
  times: number
  digest?: string
  /** When it ended last. */
  at: number
  /** Failures in a row, and how many calls of the session had succeeded by then. */
  failures: number
  code?: string
  successes: number
}
/** It was denied, or a person said no. */
interface Refusal {
  message: string
  hint: string
  next?: Next
  byPerson: boolean
}

const kept = 500

/** The memory behind the guard against calls that go in a circle. */
export class Repeats {
  private readonly repeats = new Map<string, Seen>()
  private readonly refusals = new Map<string, Refusal>()
  private settings: unknown
  successes = 0

  find(call: Call): Seen | undefined {
    return this.repeats.get(identity(call))
  }

  /** How a call that does this was refused, under whatever name, while these settings count: what other rules refused is worth asking again. */
  refused(call: Call, does: () => string, settings: unknown): Refusal | undefined {
    if (this.settings !== settings) this.refusals.clear()
    this.settings = settings
    return this.refusals.size === 0 ? undefined : this.refusals.get(deed(call, does()))
  }

  private note(call: Call): Seen {
    const key = identity(call)
    const seen = this.repeats.get(key) ?? { first: call.id, times: 0, at: 0, failures: 0, successes: 0 }
    this.repeats.delete(key)
    this.repeats.set(key, seen)
    if (this.repeats.size > kept) this.repeats.delete(this.repeats.keys().next().value!)
    return seen
  }

  /** `does`: what the call would have done, by which it is known again. */
  failed(
    call: Call,
    does: () => string,
    { code, message, hint, details, next }: (Result & { ok: false })['error'],
  ): void {
    if (code.startsWith('VT_POLICY_')) {
      // Without anybody to ask, the next one may find somebody.
      const byPerson = details?.refused === true
      if (code === 'VT_POLICY_DENIED' || byPerson)
        this.refusals.set(deed(call, does()), { message, hint, byPerson, ...(next && { next }) })
      if (this.refusals.size > kept) this.refusals.delete(this.refusals.keys().next().value!)
      return
    }
    const seen = this.note(call)
    seen.at = Date.now()
    seen.failures = seen.code === code && seen.successes === this.successes ? seen.failures + 1 : 1
    seen.code = code
    seen.successes = this.successes
  }

  /** Notes an answer; returns how often this very one was given. What comes quicker than anybody reads, in `reading` ms, is a program's, which knows what it does. */
  succeeded(call: Call, result: Result & { ok: true }, reading: number): Seen {
    this.successes += 1
    const seen = this.note(call)
    seen.failures = 0
    if (call.effects.some((effect) => effect === 'write' || effect === 'exec')) {
      // Something may have changed: what was read before is worth reading again, and a guard that looks at files may say otherwise now.
      for (const other of this.repeats.values()) other.times = 0
      for (const [key, { byPerson }] of this.refusals) if (!byPerson) this.refusals.delete(key)
      return seen
    }
    const digest = digestOf(result)
    if (seen.digest !== digest) seen.times = 1
    else if (call.at - seen.at >= reading) seen.times += 1
    seen.digest = digest
    seen.at = Date.now()
    return seen
  }
}

export const repeatsOf = (session: Session): Repeats => session.state('repeats', () => new Repeats())

const deed = (call: Call, does: string): string => `${rightsOf(call)} ${call.slot} ${does}`
const identity = ({ mode, slot, input }: Call): string =>
  `${mode} ${slot} ${JSON.stringify(Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1)))}`

/** What was refused to a call with these rights may be allowed with others, or by a name that they leave. */
const rightsOf = ({ mode, only, caller: { alias = '' } }: Call): string =>
  only ? [mode, alias, ...only.map((left) => sha256(JSON.stringify(left), 'base64'))].join(' ') : mode

/** How long something took is no part of it. */
const withoutTimes = (key: string, value: unknown): unknown => (key.endsWith('_ms') ? undefined : value)

function digestOf({ output, text = '' }: Result & { ok: true }): string {
  const json = JSON.stringify(output)
  const whole = `${json.includes('_ms":') ? JSON.stringify(output, withoutTimes) : json}${text}`
  // What is short stands for itself: a digest takes longer to make than it is worth.
  return whole.length <= shortAnswer ? whole : sha256(whole, 'base64')
}
const shortAnswer = 256
