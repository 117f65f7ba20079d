import type { Call, Effect } from '../../../core/shapes/index.js'
import type { CommandPattern } from './command_pattern.js'
import type { CallFacts } from './facts.js'

/** Parsed rule: `Tool` or `Tool(spec)`. */
export interface Rule {
  readonly text: string
  readonly reason?: string
  /** Effect that an allow rule covers; absent = all effects of the call. */
  readonly coveredEffect?: Effect
  /** Checks whether the rule is about this slot. */
  applies(facts: CallFacts): boolean
  readonly path?: (path: string) => boolean
  /** The pattern of `path` as text, absolute for paths of the machine. */
  readonly pattern?: string
  /**
   * For a pattern on paths of the machine, such as `~/keys/**`: the path above all its matches. `path` then accepts
   * absolute paths too.
   */
  readonly base?: string
  /** Any word of a command may be such a path, for any program. */
  readonly anyWord?: true
  readonly command?: CommandPattern
  readonly host?: (host: string) => boolean
  /** Condition on another property, for deny and ask only. */
  readonly input?: (call: Call) => boolean
}

export interface RuleSet {
  deny: Rule[]
  ask: Rule[]
  allow: Rule[]
}
