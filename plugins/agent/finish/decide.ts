import type { ProofRun } from '../base/index.js'
import type { RefusedChanges } from '../loop/index.js'
import { describeEnding, findValidProof, type FinishState, isOpen, formatItems } from '../task/index.js'

/** The next step after an answer without calls. */
export type Decision =
  | { kind: 'report'; text: string; why: string }
  | { kind: 'continue'; text: string; why: string }
  | { kind: 'verify' }
  | { kind: 'evaluate' }
  | { kind: 'end'; outcome: 'success' | 'stopped_no_action' | 'handed_off' | 'verification_failed' }

/** Facts that the state of the conversation does not have. */
export interface Circumstances {
  /** The model has read the refused changes of this turn. */
  refusalsRead: boolean
  /** The run continues until its tasks are done. */
  on: boolean
  /** An input of a person is pending. */
  waiting: boolean
  /** The work of a planned task is evaluated. */
  evaluated: boolean
  /** Present if the commands have run. `failed`: a failed command, with the end of its output. */
  ran?: { failed?: ProofRun & { says: string } }
}
const most = { idle: 3, same: 4, failures: 8 }
/** Characters of open steps in a prompt: about 300 tokens. */
const mostShown = 1200
const end = { kind: 'end', outcome: 'success' } as const

/**
 * Decides what follows an answer without calls, from the state alone. The branches are the rows of the table in
 * docs/agent-loop.md, in order. The model's own claims about its work do not count.
 */
export function decide(
  state: FinishState & Pick<RefusedChanges, 'unread_refusals'>,
  { refusalsRead, on, waiting, evaluated, ran }: Circumstances,
): Decision {
  if (!refusalsRead && state.unread_refusals.length > 0)
    return { kind: 'report', why: 'not_applied', text: formatRefusals(state.unread_refusals) }
  if (!on || waiting) return end
  const { tracker, failures, idle, phase } = state
  const proved = decideEnd(evaluated && phase?.phase === 'build')
  const unfinished = tracker?.items.filter(({ status }) => status !== 'completed') ?? []
  const open = unfinished.filter(isOpen)
  if (open.length > 0) {
    const without = idle.turns + Number(idle.now)
    if (without >= most.idle) return { kind: 'end', outcome: 'stopped_no_action' }
    return {
      kind: 'continue',
      why: 'open_items',
      text:
        `Open:\n${fitLines(formatItems(tracker!, isOpen)).join('\n')}\nContinue with the next. When one ` +
        'cannot be done, mark it blocked and say why.',
    }
  }
  if (unfinished.length > 0) return { kind: 'end', outcome: 'handed_off' }
  if (findValidProof(state)?.result === 'passed') return proved
  if (!ran) return { kind: 'verify' }
  if (!ran.failed) return proved
  if (failures.same >= most.same || failures.all >= most.failures)
    return { kind: 'end', outcome: 'verification_failed' }
  const { command, says, ...how } = ran.failed
  return {
    kind: 'continue',
    why: 'verification_failed',
    text: `\`${command}\` ${describeEnding(how)}. It has to pass.\n${says}`,
  }
}

const decideEnd = (isBuild: boolean): Decision => (isBuild ? { kind: 'evaluate' } : end)

/** Returns as many lines as a prompt has room for, at least one; the tracker shows the rest. */
function fitLines(lines: readonly string[]): string[] {
  let left = mostShown
  const rest = lines.findIndex((line, at) => (left -= line.length + 1) < 0 && at > 0)
  return rest < 0 ? [...lines] : [...lines.slice(0, rest), `and ${lines.length - rest} more`]
}

function formatRefusals(refusals: RefusedChanges['unread_refusals']): string {
  const lines = refusals.map(
    ({ tool, target, code }) => `Not applied: ${[tool, target && `'${target}'`].filter(Boolean).join(' ')} (${code}).`,
  )
  const { next } = refusals.at(-1)!
  return [
    ...lines,
    `Say in your answer what was not done and why${next === undefined ? '.' : `; next action: ${next}`}`,
  ].join('\n')
}
