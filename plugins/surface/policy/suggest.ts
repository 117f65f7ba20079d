import { openWorkspace, type Explanation, type Io, type Kernel } from '../../../core/index.js'
import { readCommand } from '../../lib/shell/index.js'
import { readCallRecords, type CallRecord } from '../../lib/state/index.js'
import { formatDocument, toOneLine } from '../../lib/terminal/index.js'

/** The policy that rules can answer. */
const PERMISSION_POLICY = 'builtin:permission'

interface Suggestion {
  rule: string
  asked: number
  agreed: number
}

/** Prints the rules that would have saved questions, the most frequent first. Changes nothing. */
export async function suggest(kernel: Kernel, json: boolean, io: Io): Promise<number> {
  const allowed = new Set(kernel.settings.policy.allow.map((entry) => (typeof entry === 'string' ? entry : entry.rule)))
  const found = new Map<string, Suggestion>()
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    for await (const entry of readCallRecords(workspace)) {
      const rule = entry.verdict === 'asked' || entry.verdict === 'allowed' ? toRule(entry) : undefined
      if (rule === undefined || allowed.has(rule)) continue
      const known = found.get(rule) ?? { rule, asked: 0, agreed: 0 }
      known.asked += 1
      if (entry.verdict === 'allowed') known.agreed += 1
      found.set(rule, known)
    }
  } finally {
    workspace.close()
  }
  const suggestions = [...found.values()]
    .sort((a, b) => b.agreed - a.agreed || b.asked - a.asked || (a.rule < b.rule ? -1 : 1))
    .slice(0, 50)
  if (json) io.stdout.write(formatDocument({ suggestions }))
  else if (suggestions.length === 0) io.stdout.write('No recorded question has a rule that would save it.\n')
  else {
    const lines = suggestions.map(
      ({ rule, asked, agreed }) =>
        `    - '${toOneLine(rule).replaceAll("'", "''")}'  # asked ${asked} ×, agreed ${agreed} ×\n`,
    )
    io.stdout.write(
      '# To allow one permanently, write it to ~/.vtcode/vtcode.config.yaml. Nothing was changed.\npolicy:\n  ' +
        `allow:\n${lines.join('')}`,
    )
  }
  return 0
}

/** Returns the rules that would save the question about a call; none if another policy asks too. */
export function suggestRules({ verdict, chain, call }: Explanation): string[] {
  const asking = chain.filter((link) => link.verdict !== 'none').map(({ policy }) => policy)
  if (verdict !== 'ask' || !call || asking.some((policy) => policy !== PERMISSION_POLICY)) return []
  // The default folder is in the checked input, and not in the record of a call.
  const { workdir, ...input } = call.input
  const rule = toRule({ slot: call.slot, input: workdir === '.' ? input : call.input })
  return rule === undefined ? [] : [rule]
}

/** Returns the rule for exactly this call; undefined where every rule would be broader or different. */
function toRule({ slot, input }: Pick<CallRecord, 'slot' | 'input'>): string | undefined {
  if (!input) return undefined
  const { command, url, path } = input
  if (slot.startsWith('unified_exec/'))
    return command === undefined || input['workdir'] !== undefined || input['env'] !== undefined
      ? undefined
      : toCommandRule(command as string | string[])
  if (typeof url === 'string') return URL.canParse(url) ? `WebFetch(domain:${new URL(url).hostname})` : undefined
  if (slot === 'web_search') return 'WebSearch'
  const writes = /^unified_file\/(?:write|edit|patch|delete)$/.test(slot)
  return writes && typeof path === 'string' && /^[\w./ -]+$/.test(path) && !path.startsWith('/')
    ? `Edit(/${path})`
    : undefined
}

function toCommandRule(command: string | string[]): string | undefined {
  const { commands, writes, inputs, assigned, dynamic } = readCommand(command)
  const [argv] = commands
  const isPlain =
    commands.length === 1 && writes.length + inputs.length + assigned.length === 0 && dynamic === undefined
  return isPlain && argv!.every(({ kind, text }) => kind === 'static' && /^[\w./:=@,+-]+$/.test(text))
    ? `Bash(${argv!.map(({ text }) => text).join(' ')})`
    : undefined
}
