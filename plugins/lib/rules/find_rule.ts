import type { Call } from '../../../core/shapes/index.js'
import { findCommandRule } from './file_rules.js'
import type { CallFacts } from './facts.js'
import type { Rule } from './rule.js'

/** Returns every name by which a rule may match the paths of a call. */
export const listPlaceNames = ({ places }: Pick<Call, 'places'>): string[] => [
  ...new Set(places.flatMap(({ given, resolved, entry }) => [given, resolved, entry])),
]

/** Returns the first rule that applies to a call and matches a part of it. */
export async function findRule(facts: CallFacts, rules: readonly Rule[]): Promise<Rule | undefined> {
  for (const rule of rules) if (rule.applies(facts) && (await isMatch(facts, rule))) return rule
  return rules.length > 0 && facts.hasCommand ? findCommandRule(facts, rules) : undefined
}

async function isMatch(facts: CallFacts, rule: Rule): Promise<boolean> {
  if (rule.path) return listPlaceNames(facts.call).some(rule.path)
  if (rule.host) return rule.host(facts.host() ?? '')
  if (rule.input) return rule.input(facts.call)
  return !rule.command
}
