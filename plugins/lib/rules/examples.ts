import { problem, type Call } from '../../../core/shapes/index.js'
import { readCommand } from '../shell/index.js'
import { findObjection } from './commands.js'
import { findReadOnlyFiles } from './read_only.js'
import type { Rule } from './rule.js'

/** Examples of what a rule means and what it does not. */
export interface Examples {
  match?: readonly unknown[]
  not_match?: readonly unknown[]
}

/** Tries a rule on its own examples. Throws VT_CONFIG_INVALID for the first one on which it says something else. */
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

const createExampleProblem = (rule: Rule, list: string, example: unknown) =>
  problem('VT_CONFIG_INVALID', {
    problem: `The rule '${rule.text}' ${list === 'match' ? 'does not match' : 'matches'} its example ${JSON.stringify(example)} under ${list}.`,
  })

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

/** Whether nothing but this rule and what only reads is needed to run a line. */
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
