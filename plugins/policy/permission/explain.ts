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

/** Which rule decides each program of the command lines of a call, and what else of a line stands against it. */
export async function explainCommands(facts: CallFacts, rules: RuleSet): Promise<JsonObject> {
  const lines = facts.lines()
  const commands: JsonObject[] = []
  for (const line of lines) {
    const places = await listWorkingFolders(line, facts)
    for (const argv of line.commands) {
      commands.push({
        argv: argv.map(({ text }) => text),
        dynamic: argv.some(({ kind }) => kind === 'dynamic'),
        ...(await wordOn(argv, places, facts, rules)),
      })
    }
  }
  const listed = (name: string, items: string[]) => (items.length > 0 ? { [name]: items } : {})
  return {
    commands,
    ...listed(
      'dynamic',
      lines.flatMap(({ dynamic }) => dynamic ?? []),
    ),
    ...listed(
      'hidden',
      lines.flatMap(({ hidden }) => hidden ?? []),
    ),
    ...listed(
      'writes',
      lines.flatMap(({ writes }) => writes.map(({ text }) => text)),
    ),
    ...listed(
      'inputs',
      lines.flatMap(({ inputs }) => inputs.map(({ text }) => text)),
    ),
    ...listed(
      'assigned',
      lines.flatMap(({ assigned }) => assigned),
    ),
  }
}

async function wordOn(
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
