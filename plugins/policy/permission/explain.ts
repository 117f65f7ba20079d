import type { JsonObject } from '../../../core/index.js'
import {
  findCoveringRule,
  listWorkingFolders,
  isReadOnly,
  type CallFacts,
  type RuleSet,
  type WorkingFolder,
} from '../../lib/rules/index.js'
import type { Argv } from '../../lib/shell/index.js'

/** Explains which rule decides each program of the command lines, and other objections to a line. */
export async function explainCommands(facts: CallFacts, rules: RuleSet): Promise<JsonObject> {
  const lines = facts.lines()
  const commands: JsonObject[] = []
  for (const line of lines) {
    const places = await listWorkingFolders(line, facts)
    for (const argv of line.commands) {
      commands.push({
        argv: argv.map(({ text }) => text),
        dynamic: argv.some(({ kind }) => kind === 'dynamic'),
        ...(await explainCommand(argv, places, facts, rules)),
      })
    }
  }
  const toList = (name: string, items: string[]) => (items.length > 0 ? { [name]: items } : {})
  return {
    commands,
    ...toList(
      'dynamic',
      lines.flatMap(({ dynamic }) => dynamic ?? []),
    ),
    ...toList(
      'hidden',
      lines.flatMap(({ hidden }) => hidden ?? []),
    ),
    ...toList(
      'writes',
      lines.flatMap(({ writes }) => writes.map(({ text }) => text)),
    ),
    ...toList(
      'inputs',
      lines.flatMap(({ inputs }) => inputs.map(({ text }) => text)),
    ),
    ...toList(
      'assigned',
      lines.flatMap(({ assigned }) => assigned),
    ),
  }
}

async function explainCommand(
  argv: Argv,
  places: WorkingFolder[],
  facts: CallFacts,
  rules: RuleSet,
): Promise<{ verdict: string; rule?: string }> {
  for (const verdict of ['deny', 'ask'] as const) {
    const rule = rules[verdict].find((rule) => rule.command?.matches(argv) && rule.applies(facts))
    if (rule) return { verdict, rule: rule.text }
  }
  if (await isReadOnly(argv, places, facts, rules)) return { verdict: 'run', rule: 'only reads' }
  const rule = await findCoveringRule(argv, places, facts, rules.allow)
  return rule ? { verdict: 'allow', rule: rule.text } : { verdict: 'ask' }
}
