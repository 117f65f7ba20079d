import { problem, type Call } from '../../../core/shapes/index.js'
import { findReadOnlyFiles, readCommand } from '../shell/index.js'
import { findObjection } from './commands.js'
import type { Rule } from './rule.js'

/** Examples that a rule must match and must not match. */
export interface Examples {
  match?: readonly unknown[]
  not_match?: readonly unknown[]
}

/** Checks a rule against its examples. Throws VT_CONFIG_INVALID for the first wrong one. */
export function checkExamples(
  rule: Rule,
  verdict: 'deny' | 'ask' | 'allow',
  { match = [], not_match = [] }: Examples,
): void {
  const wrong = match.find((example) => !isMatch(rule, verdict, example))
  if (wrong !== undefined) throw createExampleProblem(rule, 'match', wrong)
  const over = not_match.find((example) => isMatch(rule, verdict, example))
  if (over !== undefined) throw createExampleProblem(rule, 'not_match', over)
}

function createExampleProblem(rule: Rule, list: string, example: unknown) {
  const fault = list === 'match' ? 'does not match' : 'matches'
  return problem('VT_CONFIG_INVALID', {
    problem:
      `The rule '${rule.text}' ${fault} its example ${JSON.stringify(example)} under ${list}. ` +
      'Change the rule or the example.',
  })
}

/** An example is a command line, a path, an address or the input of a call. */
function isMatch(rule: Rule, verdict: 'deny' | 'ask' | 'allow', example: unknown): boolean {
  const text = typeof example === 'string' ? example : JSON.stringify(example)
  if (rule.command)
    return verdict === 'allow'
      ? canAllow(rule, text)
      : readCommand(text).commands.some((argv) => rule.command!.matches(argv))
  if (rule.path) return rule.path(text.replace(/^\.\//, ''))
  if (rule.host) return rule.host(URL.canParse(text) ? new URL(text).hostname : text)
  if (rule.input) return rule.input({ input: parseInput(text) } as unknown as Call)
  return true
}

/** Checks whether a line runs without approval with this rule as the only allow rule. */
function canAllow(rule: Rule, text: string): boolean {
  const line = readCommand(text)
  if (findObjection(line)) return false
  return (
    line.commands.every((argv) => rule.command!.covers(argv) || findReadOnlyFiles(argv) !== undefined) &&
    line.commands.some((argv) => rule.command!.covers(argv))
  )
}

function parseInput(text: string): object {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? value : { name: text }
  } catch {
    return { name: text }
  }
}
