import type { Context } from '../../../core/index.js'
import { resolveSandboxMode, isStrictRequested } from '../../lib/process/index.js'
import type { CallFacts } from '../../lib/rules/index.js'
import { findSandbox } from '../../lib/sandbox/index.js'
import { getModeVerdict } from './modes.js'
import { judgeWrites } from './judge_writes.js'

const RUNNER = 'unified_exec/run'

/**
 * Checks whether a command runs in the strict sandbox instead of a question: the user's settings allow it, and the
 * sandbox is available.
 */
export async function canRunSandboxed(facts: CallFacts, context: Context): Promise<boolean> {
  const {
    policy,
    sandbox: { mode },
  } = context.settings
  if (policy.sandboxed_commands !== 'allow' || !isStrictRequested(facts.call, mode)) return false
  return isCommandOnly(facts) && isBuiltinRunner(context) && (await hasSandbox(context))
}

/** Returns the setting that would allow this call in the sandbox; `undefined` if it would not. */
export async function createSandboxOffer(facts: CallFacts, context: Context): Promise<string | undefined> {
  const { call } = facts
  const {
    policy,
    sandbox: { mode },
  } = context.settings
  if (policy.sandboxed_commands === 'allow' || call.input.sandbox_permissions !== undefined) return undefined
  if (resolveSandboxMode(mode, call.caller.sandbox, false) === 'off') return undefined
  if (!isCommandOnly(facts) || !isBuiltinRunner(context) || (await judgeWrites(facts)).verdicts.length > 0)
    return undefined
  return (await hasSandbox(context)) ? OFFER : undefined
}

const OFFER =
  '`policy.sandboxed_commands: allow` in ~/.vtcode/vtcode.config.yaml, ' +
  'so that it runs in the sandbox without approval: no network, only the workspace is writable, a checkpoint first'

/** Checks whether running a command is the only reason for a question. */
const isCommandOnly = ({ call }: CallFacts): boolean =>
  call.slot === RUNNER &&
  call.effects.every((effect) => effect === 'exec' || getModeVerdict(call.mode, effect) === 'run')

/** Checks whether the built-in handler alone serves the slot: another one may ignore the sandbox. */
const isBuiltinRunner = ({ host }: Context): boolean =>
  host.contributions().every(({ slot, state, layer }) => slot !== RUNNER || state !== 'active' || layer === 'builtin')

const hasSandbox = async ({ workspace }: Context): Promise<boolean> =>
  !('missing' in (await findSandbox(workspace.root)))
