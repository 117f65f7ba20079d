import { resolveUserFolder } from '../../../core/system/index.js'
import type { Approval, Explanation, Kernel } from '../../../core/contract/index.js'
import { openAllowList } from '../../lib/own_files/index.js'
import { parseRule } from '../../lib/rules/index.js'

type AskedCall = Approval['call']

/** Explains how policies judge a call that waits for approval. */
const explainCall = (kernel: Kernel, { slot, input, mode }: AskedCall): Promise<Explanation> => {
  const [tool = slot, action] = slot.split('/')
  return kernel.explain(
    tool,
    { ...(input as object), ...(action !== undefined && { action }) },
    { mode, surface: 'chat' },
  )
}

/** Finds the rule that asks, with its file and line, and the narrowest rule that would allow the call. */
export async function findRules(kernel: Kernel, call: AskedCall): Promise<{ asks?: string; allows?: string }> {
  const { chain, hint } = await explainCall(kernel, call)
  const rule = chain.flatMap(({ notes }) =>
    notes.flatMap((note) => (note.list === 'ask' && typeof note.rule === 'string' ? [note.rule] : [])),
  )[0]
  const origin =
    rule === undefined
      ? undefined
      : kernel.inspection
          .origins()
          .find(
            ({ path, value }) =>
              path.startsWith('policy.ask.') && (value === rule || (value as { rule?: unknown } | null)?.rule === rule),
          )
  const allows = /the user adds the rule '([^']+)' to policy\.allow/.exec(hint ?? '')?.[1]
  return {
    ...(rule !== undefined && {
      asks: `${rule}${origin ? ` of ${origin.file}${origin.line === undefined ? '' : `:${origin.line}`}` : ''}`,
    }),
    ...(allows !== undefined && { allows }),
  }
}

/**
 * Adds an allow rule for this workspace to a file of the user. The rule has to allow `call`.
 * Returns an error message if the rule was not kept.
 */
export async function addAllowRule(kernel: Kernel, call: AskedCall, text: string): Promise<string | undefined> {
  const rule = text.trim()
  if (!parseRule(rule, 'allow', { root: kernel.workspace, user: resolveUserFolder({ env: kernel.inspection.env }) }))
    return (
      `Invalid rule '${rule}'. ` +
      'Write, for example, Bash(npm test *), Edit(/src/**) or WebFetch(domain:example.org).'
    )
  const { rules, write } = openAllowList(kernel.inspection.home, kernel.workspace)
  write([...rules.filter((one) => one !== rule), rule])
  const { ok, diagnostics } = await kernel.reload()
  if (ok && (await explainCall(kernel, call)).verdict === 'run') return undefined
  write(rules)
  await kernel.reload()
  if (ok) return `The rule '${rule}' does not allow this call. Make it wider, or answer yes.`
  const reason = diagnostics.find(({ severity }) => severity === 'error')?.message ?? 'the settings would be invalid'
  return `The rule '${rule}' cannot be saved: ${reason}`
}
