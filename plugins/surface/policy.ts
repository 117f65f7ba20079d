import type { Explanation, Io, JsonObject, Kernel } from '../../core/index.js'
import { isSpelling } from '../../core/registry/index.js'
import {
  CallUsageError,
  formatColumns,
  formatDocument,
  toOneLine,
  createPaint,
  readInput,
  runCommand,
  say,
  takeTool,
  createVerb,
} from '../lib/terminal/index.js'

type Flags = { json?: boolean }

/** Runs `vtcode policy`: explains verdicts, lists rules and tests them. */
export default async function policy(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'policy',
    'Explain the verdict of a call, list the rules and test them.',
    io,
  ).enablePositionalOptions()
  command
    .command('explain')
    .argument('[call...]', 'a command line in quotes, or <tool> [action] [--field value …]')
    .description('Show the verdict of a call, and the policy and the rule that decide it; makes no call.')
    .option('--json', 'print one JSON document')
    .passThroughOptions()
    .action(async (words: string[], { json = false }: Flags) => void (code = await explain(kernel, words, json, io)))
  command
    .command('list')
    .description('List the rules, each with its file.')
    .option('--json', 'print one JSON document')
    .action(({ json = false }: Flags) => void (code = list(kernel, json, io)))
  command
    .command('test')
    .description('Test every rule on its own examples (match, not_match).')
    .action(async () => void (code = await test(kernel, io)))
  command
    .command('suggest')
    .description(
      'List rules that would have saved a question, from the record of calls; none is broader than the call.',
    )
    .option('--json', 'print one JSON document')
    .action(
      async ({ json = false }: Flags) =>
        void (code = await (await import('./policy/suggest.js')).suggest(kernel, json, io)),
    )
  command
    .command('adopt')
    .argument(
      '[rule...]',
      'allow rules of the workspace, which are ignored there; without one, vtcode asks at the terminal',
    )
    .description('Copy rules into your own file for this workspace.')
    .action(async (rules: string[]) => void (code = await (await import('./policy/adopt.js')).adopt(kernel, rules, io)))
  try {
    return await runCommand(command, argv.length === 0 ? ['--help'] : argv, () => code)
  } catch (error) {
    if (!(error instanceof CallUsageError)) throw error
    say(io, 'error', `${error.message}\nSee \`vtcode policy --help\`.`)
    return 2
  }
}

async function explain(kernel: Kernel, words: string[], json: boolean, io: Io): Promise<number> {
  if (words.length === 0) throw new CallUsageError('Name a command line, or a tool with its input.')
  const isTool = (word: string) =>
    kernel.tools().some(({ name }) => name === word) ||
    (!/\s/.test(word) && kernel.list().some((info) => isSpelling(word, info)))
  const line = words.length === 1 && !isTool(words[0]!) ? words[0]! : undefined
  const raw = await (line === undefined
    ? kernel.explain(takeTool(words), await readInput(words, io), { surface: 'call' })
    : kernel.explain('unified_exec', { action: 'run', command: line }, { surface: 'call' }))
  const rules = listRules(kernel)
  const addOrigin = (note: JsonObject): JsonObject => {
    const origin = rules.find(({ rule }) => rule === note.rule)
    return origin ? { ...note, layer: origin.layer, file: origin.place } : note
  }
  const explanation: Explanation = {
    ...raw,
    chain: raw.chain.map((link) => ({
      ...link,
      notes: link.notes.map((note) => addOrigin(addCommandOrigins(note, addOrigin))),
    })),
  }
  if (json) {
    const { suggestRules } = await import('./policy/suggest.js')
    io.stdout.write(formatDocument({ ...explanation, suggestions: suggestRules(explanation) }))
  } else io.stdout.write(render(explanation, io))
  return raw.verdict === 'refused' ? 1 : 0
}

const addCommandOrigins = (note: JsonObject, addOrigin: (note: JsonObject) => JsonObject): JsonObject =>
  Array.isArray(note.commands) ? { ...note, commands: (note.commands as JsonObject[]).map(addOrigin) } : note

function render(explanation: Explanation, io: Io): string {
  const { bold, dim } = createPaint(io.stdout, io.env)
  const { call, mode, verdict, decided_by, reason, hint, chain } = explanation
  const head =
    `${bold(verdict)}${call ? `  ${call.slot} in mode ${mode}` : ''}` +
    `${decided_by ? `, decided by ${decided_by}` : ''}\n`
  const why = [reason, hint].flatMap((text) => (text ? [`  ${toOneLine(text)}\n`] : [])).join('')
  const commands = chain.flatMap(({ notes }) => notes.flatMap((note) => (note.commands ?? []) as Part[]))
  const parts = formatColumns(
    commands.map(({ argv, verdict, rule = '', file = '' }) => [
      `  ${toOneLine(argv.join(' '))}`,
      verdict,
      toOneLine(rule),
      toOneLine(file),
    ]),
    dim,
  )
  const others = chain.flatMap(({ notes }) =>
    notes.flatMap((note) =>
      typeof note.rule === 'string' ? [`  ${toOneLine(note.rule)}  ${dim(toOneLine(String(note.file ?? '')))}\n`] : [],
    ),
  )
  const asked = formatColumns(
    chain.map(({ policy, verdict, reason = '' }) => [`  ${policy}`, verdict, toOneLine(reason)]),
    dim,
  )
  const renderSection = (title: string, text: string): string => (text ? `${title}\n${text}` : '')
  return (
    head +
    why +
    renderSection('programs in it', parts) +
    renderSection('the rule', others.join('')) +
    renderSection('policies asked', asked)
  )
}
interface Part {
  argv: string[]
  verdict: string
  rule?: string
  file?: string
}

interface Row {
  verdict: string
  rule: string
  layer: string
  /** `file:line`. */
  place: string
  reason?: string
}

/** Lists every rule of the settings with its file. */
function listRules(kernel: Kernel): Row[] {
  return kernel.inspection.origins().flatMap(({ path, layer, file, line, value }) => {
    const [, list] = /^policy\.(deny|ask|allow|commands)\.\d+$/.exec(path) ?? []
    if (list === undefined) return []
    const entry = value as string | { rule?: string; id?: string; verdict?: string; reason?: string }
    const { rule, id, verdict = list, reason } = typeof entry === 'string' ? { rule: entry } : entry
    return {
      verdict,
      rule: rule ?? `commands.${id}`,
      layer,
      place: line === undefined ? file : `${file}:${line}`,
      ...(reason !== undefined && { reason }),
    }
  })
}

function list(kernel: Kernel, json: boolean, io: Io): number {
  const { mode, max_mode, constraints } = kernel.settings.policy
  const rules = listRules(kernel)
  for (const { code, severity, message, hint } of kernel.diagnostics())
    if (code.startsWith('VT_POLICY_')) say(io, severity, `${message} ${hint ?? ''}`)
  if (json) io.stdout.write(formatDocument({ mode, max_mode, rules, constraints }))
  else {
    io.stdout.write(
      `mode ${mode}, at most ${max_mode}\n` +
        `${formatColumns(rules.map(({ verdict, rule, place }) => [`  ${verdict}`, rule, place]))}`,
    )
    const limits = Object.entries(constraints)
    io.stdout.write(formatColumns(limits.map(([slot, limit]) => [`  ${slot}`, JSON.stringify(limit)])))
  }
  return 0
}

/** Tests the rules. A policy with a failing example refuses every call, so any call reveals the failure. */
async function test(kernel: Kernel, io: Io): Promise<number> {
  const { chain } = await kernel.explain('unified_exec', { action: 'run', command: 'true' }, { surface: 'call' })
  const failure = chain.find(({ policy, reason }) => reason?.startsWith(`The policy ${policy} failed`))
  const { deny, ask, allow, commands } = kernel.settings.policy
  const entries = [...deny, ...ask, ...allow, ...commands]
  const examples = entries.flatMap((entry) =>
    typeof entry === 'string' ? [] : [...(entry.match ?? []), ...(entry.not_match ?? [])],
  ).length
  if (failure) say(io, 'error', failure.reason!)
  else io.stdout.write(`${entries.length} rules pass their ${examples} examples.\n`)
  return failure ? 1 : 0
}
