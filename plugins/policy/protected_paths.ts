import type { Call, Context, JsonObject, Policy, Verdict } from '../../core/index.js'
import { resolveSandboxMode } from '../lib/process/index.js'
import { collectFacts } from '../lib/rules/index.js'
import { findSandbox } from '../lib/sandbox/index.js'
import type { SteeringVerdict } from '../lib/steering/index.js'
import { judgeWrites } from './permission/judge_writes.js'

/** Protects auto-executed config: denies the change, or asks for approval. */
const protectPaths: Policy = async (call, context) => {
  const { verdicts, unclear, findOperand } = await judgeWrites(collectFacts(call, context))
  const worst = verdicts.find(({ verdict }) => verdict === 'deny') ?? verdicts[0]
  if (!worst) {
    if ((unclear === undefined && !findOperand) || (await isConfined(call, context))) return undefined
    if (unclear !== undefined) return createUndeterminedVerdict(call, unclear)
    const operand = findOperand?.()
    return operand && createOperandVerdict(operand)
  }
  const { verdict, reason } = worst
  const details = createDetails(worst)
  if (verdict === 'deny') return { deny: reason, hint: 'Ask the user to change it by hand.', details }
  return {
    ask: reason,
    asks: listReasons(verdicts.map((one) => one.reason)),
    hint: 'The user must approve this change.',
    details,
  }
}

const MAX_REASONS = 20
/** Lists all reasons up to a limit, because the shortened text of a large patch may not show every file. */
function listReasons(reasons: string[]): string[] {
  const all = [...new Set(reasons)]
  return all.length > MAX_REASONS
    ? [...all.slice(0, MAX_REASONS), `… and ${all.length - MAX_REASONS} more files of auto-executed config.`]
    : all
}

/** Checks whether the sandbox protects auto-executed config from the command. */
async function isConfined({ caller, input }: Call, context: Context): Promise<boolean> {
  const use = resolveSandboxMode(
    context.settings.sandbox.mode,
    caller.sandbox,
    input.sandbox_permissions === 'require_escalated',
  )
  return use === 'required' || (use === 'auto' && !('missing' in (await findSandbox(context.workspace.root))))
}

const createDetails = ({ path }: SteeringVerdict): JsonObject => ({
  not_applied: true,
  say:
    'Not applied. The path is protected, so nothing was changed; ' +
    `next action: ask the user to change ${path} by hand.`,
})

const createOperandVerdict = (operand: SteeringVerdict): Verdict => ({
  ask:
    'The command may change auto-executed config without a sandbox: ' +
    `'${operand.path}' is among its operands or below one.`,
  hint: 'The user must approve this command.',
  details: createDetails(operand),
})

function createUndeterminedVerdict({ mode }: Call, what: string): Verdict {
  const reason = `The command may change auto-executed config without a sandbox: ${what}.`
  return mode === 'full-auto'
    ? { deny: reason, hint: 'Use plain words for the files that the command writes.' }
    : { ask: reason, hint: 'Use plain words for the files that the command writes, or ask the user to approve.' }
}
export default protectPaths
