import type { Call, Effect } from '../../../core/shapes/index.js'
import type { CommandPattern } from './command_pattern.js'
import type { CallFacts } from './facts.js'

/** `Tool` or `Tool(spec)`, ready to be asked. */
export interface Rule {
  readonly text: string
  readonly reason?: string
  /** The effect an allow rule answers for; absent = all of the call. */
  readonly coveredEffect?: Effect
  /** Whether the rule speaks about this slot at all. */
  applies(facts: CallFacts): boolean
  readonly path?: (path: string) => boolean
  /** Any word of a command may be such a path, whatever its program does with it. */
  readonly anyWord?: true
  readonly command?: CommandPattern
  readonly host?: (host: string) => boolean
  /** Any other property, for deny and ask only. */
  readonly input?: (call: Call) => boolean
}

export interface RuleSet {
  deny: Rule[]
  ask: Rule[]
  allow: Rule[]
}
