import type { OutcomeCode, Subtype } from './types.js'

interface Verdict {
  /** When a run ends so, for a person. */
  says: string
  /** What they may do next; what ends with a code has the hint of that. */
  next?: string
  subtype: Subtype
  /** What a process that did nothing else exits with: only a success is 0. */
  exit_code: 0 | 1 | 130
  /** The codes of failures that end a run so; every other one is `failed`. */
  codes?: readonly string[]
}
const failed = { subtype: 'error_during_execution', exit_code: 1 } as const
const limits =
  '`tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`'

/** How a run may end, and what that means to whoever started it. */
export const outcomeTable: Readonly<Record<OutcomeCode, Verdict>> = {
  success: {
    says: 'The model has nothing more to do, and no policy refused its last change.',
    subtype: 'success',
    exit_code: 0,
  },
  escalated: {
    says: 'A change was refused, and none was made after it.',
    next: 'Allow it by a rule or another mode, then `vtcode resume <id>` continues.',
    ...failed,
  },
  turn_limit_reached: {
    says: 'The turns or the time of the run are used up.',
    next: '`vtcode resume <id>` continues.',
    subtype: 'error_max_turns',
    exit_code: 1,
  },
  budget_limit_reached: {
    says: 'The money is used up.',
    subtype: 'error_max_budget_usd',
    exit_code: 1,
    codes: ['VT_LOOP_BUDGET'],
  },
  tool_loop_limit_reached: {
    says: `A limit of the turn is reached: ${limits}.`,
    next: '`vtcode resume <id>` continues.',
    ...failed,
  },
  loop_detected: {
    says: 'The last calls went in circles and were stopped.',
    next: 'Rephrase the task; `vtcode resume <id>` continues.',
    ...failed,
  },
  stopped_no_action: {
    says: 'The model was asked three times to go on and did nothing.',
    next: 'Read the handoff; `vtcode resume <id> "<what to do>"` continues.',
    ...failed,
  },
  verification_failed: {
    says: 'The commands that prove the work still fail.',
    next: 'Read the handoff; `vtcode resume <id> "<what to do>"` continues.',
    ...failed,
  },
  handed_off: {
    says: 'Every open step of the task is blocked, or the conversation cannot be made short enough.',
    next: '`vtcode resume <id> "<what to do>"` continues.',
    ...failed,
    codes: ['VT_CONTEXT_STUCK'],
  },
  failed: { says: 'The turn failed with a code.', ...failed },
  cancelled: { says: 'Somebody stopped the run.', subtype: 'cancelled', exit_code: 130, codes: ['VT_CANCELLED'] },
  unknown: {
    says: 'The process was killed; the next one that opens the session writes this end.',
    next: '`vtcode resume <id> --continue-turn` continues.',
    ...failed,
  },
}

export const outcomeOfFailure = (code: string): OutcomeCode =>
  (Object.keys(outcomeTable) as OutcomeCode[]).find((one) => outcomeTable[one].codes?.includes(code)) ?? 'failed'
