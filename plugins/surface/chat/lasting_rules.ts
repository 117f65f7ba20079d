import { userOf } from '../../../core/system/index.js'
import type { Explanation, Kernel } from '../../../core/index.js'
import type { Approval } from '../../../core/contract/index.js'
import { allowedHere } from '../../lib/own_files/index.js'
import { parseRule } from '../../lib/rules/index.js'

type AskedCall = Approval['call']

/** What the policies say of a call that is asked about. */
const explained = (kernel: Kernel, { slot, input, mode }: AskedCall): Promise<Explanation> => {
  const [tool = slot, action] = slot.split('/')
  return kernel.explain(
    tool,
    { ...(input as object), ...(action !== undefined && { action }) },
    { mode, surface: 'chat' },
  )
}

/** The rule that asks, with the file that says it, and the narrowest rule that would allow the call; nothing where there is none such. */
export async function rulesAbout(kernel: Kernel, call: AskedCall): Promise<{ asks?: string; allows?: string }> {
  const { chain, hint } = await explained(kernel, call)
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

/** Allows what a rule says in this workspace from now on, in a file of the user's. Returns what is wrong with it, and then nothing is kept: it has to allow the call that was asked about. */
export async function allowByRule(kernel: Kernel, call: AskedCall, text: string): Promise<string | undefined> {
  const rule = text.trim()
  if (!parseRule(rule, 'allow', { root: kernel.workspace, user: userOf({ env: kernel.inspection.env }) }))
    return `'${rule}' is no rule; one is such as Bash(npm test *), Edit(/src/**) or WebFetch(domain:example.org).`
  const { rules, write } = allowedHere(kernel.inspection.home, kernel.workspace)
  write([...rules.filter((one) => one !== rule), rule])
  const { ok, diagnostics } = await kernel.reload()
  if (ok && (await explained(kernel, call)).verdict === 'run') return undefined
  write(rules)
  await kernel.reload()
  return ok
    ? `'${rule}' does not allow this call.`
    : `'${rule}' cannot be kept: ${diagnostics.find(({ severity }) => severity === 'error')?.message ?? 'the settings are wrong then'}`
}
