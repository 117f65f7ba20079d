import type { Context } from '../../../core/index.js'
import { confinement, wantsStrict } from '../../lib/process/index.js'
import type { CallFacts } from '../../lib/rules/index.js'
import { findSandbox } from '../../lib/sandbox/index.js'
import { word } from './modes.js'
import { steeredBy } from './steered_by.js'

const runner = 'unified_exec/run'

/** Whether a command that would be asked about runs in the strict sandbox instead: the user's own settings say so, and the sandbox is there. */
export async function runsSandboxed(facts: CallFacts, context: Context): Promise<boolean> {
  const {
    policy,
    sandbox: { mode },
  } = context.settings
  if (policy.sandboxed_commands !== 'allow' || !wantsStrict(facts.call, mode)) return false
  return onlyRuns(facts) && served(context) && (await isThere(context))
}

/** What a person may choose beside a yes; nothing where it would not let this call pass. */
export async function sandboxOffer(facts: CallFacts, context: Context): Promise<string | undefined> {
  const { call } = facts
  const {
    policy,
    sandbox: { mode },
  } = context.settings
  if (policy.sandboxed_commands === 'allow' || call.input.sandbox_permissions !== undefined) return undefined
  if (confinement(mode, call.caller.sandbox, false) === 'off') return undefined
  if (!onlyRuns(facts) || !served(context) || (await steeredBy(facts)).verdicts.length > 0) return undefined
  return (await isThere(context)) ? offered : undefined
}

const offered =
  '`policy.sandboxed_commands: allow` in ~/.vtcode/vtcode.config.yaml, and it runs unasked in the sandbox: without network, with the workspace alone to write, a checkpoint before'

/** Nothing but that it runs a command is asked about. */
const onlyRuns = ({ call }: CallFacts): boolean =>
  call.slot === runner && call.effects.every((effect) => effect === 'exec' || word(call.mode, effect) === 'run')

/** Nobody but the program itself runs it: another runner need not know the sandbox. */
const served = ({ host }: Context): boolean =>
  host.contributions().every(({ slot, state, layer }) => slot !== runner || state !== 'active' || layer === 'builtin')

const isThere = async ({ workspace }: Context): Promise<boolean> => !('missing' in (await findSandbox(workspace.root)))
