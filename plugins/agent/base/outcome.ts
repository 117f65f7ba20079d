import type { OutcomeCode, Subtype } from './types.js'

interface OutcomeInfo {
  /** The reason of this end, for a person. */
  description: string
  /** The next action for a person; outcomes with a code use the hint of the code. */
  next?: string
  subtype: Subtype
  /** The exit code of a process with one run; 0 only for a success. */
  exit_code: 0 | 1 | 130
  /** The error codes with this outcome; every other code is `failed`. */
  codes?: readonly string[]
}
const failed = { subtype: 'error_during_execution', exit_code: 1 } as const
const limits =
  '`tools.max_tool_loops`, `agent.harness.max_tool_calls_per_turn` or `agent.harness.max_tool_wall_clock_secs`'

/** The possible ends of a run. */
export const outcomeTable: Readonly<Record<OutcomeCode, OutcomeInfo>> = {
  success: {
    description: 'The model has nothing more to do, and no policy refused its last change.',
    subtype: 'success',
    exit_code: 0,
  },
  escalated: {
    description: 'A change was refused, and none was made after it.',
    next: 'Allow it by a rule or another mode, then `vtcode resume <id>` continues.',
    ...failed,
  },
  turn_limit_reached: {
    description: 'The turns or the time of the run are used up.',
    next: '`vtcode resume <id>` continues.',
    subtype: 'error_max_turns',
    exit_code: 1,
  },
  budget_limit_reached: {
    description: 'The budget of the run is used up.',
    subtype: 'error_max_budget_usd',
    exit_code: 1,
    codes: ['VT_LOOP_BUDGET'],
  },
  tool_loop_limit_reached: {
    description: `A limit of the turn is reached: ${limits}.`,
    next: '`vtcode resume <id>` continues.',
    ...failed,
  },
  loop_detected: {
    description: 'The last calls repeated in a loop and were stopped.',
    next: 'Rephrase the task; `vtcode resume <id>` continues.',
    ...failed,
  },
  stopped_no_action: {
    description: 'The model was asked three times to continue and did nothing.',
    next: 'Read the handoff; `vtcode resume <id> "<what to do>"` continues.',
    ...failed,
  },
  verification_failed: {
    description: 'The verification commands still fail.',
    next: 'Read the handoff; `vtcode resume <id> "<what to do>"` continues.',
    ...failed,
  },
  handed_off: {
    description: 'Every open step of the task is blocked, or the conversation cannot be shortened enough.',
    next: '`vtcode resume <id> "<what to do>"` continues.',
    ...failed,
    codes: ['VT_CONTEXT_STUCK'],
  },
  failed: { description: 'The turn failed with an error code.', ...failed },
  cancelled: { description: 'The run was cancelled.', subtype: 'cancelled', exit_code: 130, codes: ['VT_CANCELLED'] },
  unknown: {
    description: 'The process was killed; the next process that opens the session records this outcome.',
    next: '`vtcode resume <id> --continue-turn` continues.',
    ...failed,
  },
}

export const toOutcomeCode = (code: string): OutcomeCode =>
  (Object.keys(outcomeTable) as OutcomeCode[]).find((one) => outcomeTable[one].codes?.includes(code)) ?? 'failed'
