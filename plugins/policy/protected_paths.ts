import type { Call, Context, Policy, Verdict } from '../../core/index.js'
import { confinement } from '../lib/process/index.js'
import { collectFacts } from '../lib/rules/index.js'
import { findSandbox } from '../lib/sandbox/index.js'
import { steeredBy } from './permission/steered_by.js'

/** What runs or steers other programs is not changed by a tool: denied outright, or asked for. */
const protected_paths: Policy = async (call, context) => {
  const { verdicts, unclear } = await steeredBy(collectFacts(call, context))
  const worst = verdicts.find(({ verdict }) => verdict === 'deny') ?? verdicts[0]
  if (!worst)
    return unclear !== undefined && !(await isConfined(call, context)) ? undetermined(call, unclear) : undefined
  const { verdict, path, reason } = worst
  const details = {
    not_applied: true,
    say: `Not applied. The path is protected, so nothing was changed; next action: ask the user to change ${path} by hand.`,
  }
  if (verdict === 'deny') return { deny: reason, hint: 'Ask the user to change it by hand.', details }
  return {
    ask: reason,
    asks: everyReason(verdicts.map((one) => one.reason)),
    hint: 'The user has to agree to this change.',
    details,
  }
}

const mostReasons = 20
/** A patch may be about many files, and the text of it is shortened in its middle: none of those that steer is left unnamed. */
function everyReason(reasons: string[]): string[] {
  const all = [...new Set(reasons)]
  return all.length > mostReasons
    ? [
        ...all.slice(0, mostReasons),
        `… and ${all.length - mostReasons} more files that decide what other programs run.`,
      ]
    : all
}

/** Whether the sandbox keeps what steers programs, whatever a command writes. */
async function isConfined({ caller, input }: Call, context: Context): Promise<boolean> {
  const use = confinement(
    context.settings.sandbox.mode,
    caller.sandbox,
    input.sandbox_permissions === 'require_escalated',
  )
  return use === 'required' || (use === 'auto' && !('missing' in (await findSandbox(context.workspace.root))))
}

function undetermined({ mode }: Call, what: string): Verdict {
  const reason = `It cannot be determined ${what}; no sandbox keeps what steers other programs.`
  return mode === 'full-auto'
    ? { deny: reason, hint: 'Name in plain words what is written.' }
    : { ask: reason, hint: 'The user has to agree, or the command names in plain words what it writes.' }
}
export default protected_paths
