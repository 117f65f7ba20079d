import type { Effect, Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { describeFault, isQuiet, type AgentSettings, type LoopDetector, type TurnCounts } from '../base/index.js'

const guards = ['VT_GUARD_DUPLICATE', 'VT_POLICY_REPEATED', 'VT_LOOP_CYCLE']
const mostGuarded = 3

interface Bound {
  setting: string
  says: string
  /** 0 is no limit. */
  most(settings: AgentSettings): number
  used(counts: TurnCounts): number
}
/** The limits of one turn. */
export const turnBounds: readonly Bound[] = [
  {
    setting: 'tools.max_tool_loops',
    says: 'steps with calls',
    most: ({ tools }) => tools.max_tool_loops,
    used: ({ tool_loops }) => tool_loops,
  },
  {
    setting: 'agent.harness.max_tool_calls_per_turn',
    says: 'calls that are made',
    most: ({ harness }) => harness.max_tool_calls_per_turn,
    used: ({ tool_calls }) => tool_calls,
  },
  {
    setting: 'agent.harness.max_tool_wall_clock_secs',
    says: 'seconds that calls run, without waits for people',
    most: ({ harness }) => harness.max_tool_wall_clock_secs,
    used: ({ wall_ms }) => wall_ms / 1000,
  },
]

/** The facts about a call for the loop detector. */
export interface RepetitionTraits {
  identity: string
  /** A call that continues a running command is no repetition. */
  continues: boolean
}

/** The state of the current step. */
interface StepRecord {
  /** Ids of its items. */
  readonly items: string[]
  /** A person cancelled the remaining calls. */
  cancelled: boolean
}
const createStepRecord = (): StepRecord => ({ items: [], cancelled: false })

/** Counts what a turn uses of its limits, and its refused calls. */
export class TurnLimits {
  readonly counts: TurnCounts = { tool_loops: 0, tool_calls: 0, wall_ms: 0 }
  step: StepRecord = createStepRecord()
  /** Items of calls that were shown while the model wrote them. */
  readonly itemByCall = new Map<string, string>()
  /** Set for the last answer of a turn: its calls are refused. */
  closed = false
  private guarded = 0
  private denials = 0

  constructor(
    private readonly settings: AgentSettings,
    private readonly loopDetector: LoopDetector,
  ) {}

  beginStep(): void {
    this.step = createStepRecord()
  }

  /** Returns the fault of a call that is not made at all. */
  refuse({ identity, continues }: RepetitionTraits): { code: string; message: string; hint: string } | undefined {
    if (this.step.cancelled)
      return describeFault(
        'VT_CALL_ABORTED',
        'The user cancelled the rest of this step; nothing was done.',
        'Ask the user before you continue.',
      )
    if (this.closed)
      return describeFault(
        'VT_LOOP_CALL_LIMIT',
        'No more calls are possible in this turn; nothing was done.',
        'Say what is done and what is left.',
      )
    const most = this.settings.harness.max_tool_calls_per_turn
    if (most > 0 && this.counts.tool_calls >= most)
      return describeFault(
        'VT_LOOP_CALL_LIMIT',
        `${most} calls were made in this turn; no more are possible.`,
        'Say what is done and what is left.',
      )
    const circle = continues ? undefined : this.loopDetector.describeLoop(identity)
    if (circle !== undefined) {
      this.guarded += 1
      return describeFault('VT_LOOP_CYCLE', circle, 'Do something else, or say what keeps you from it.')
    }
    this.counts.tool_calls += 1
    return undefined
  }

  /**
   * Records the result of a call and its run time without waits for people; returns the text for the model, with a
   * remark at the start of a loop.
   */
  note<T extends { text: string }>(
    { identity, continues }: RepetitionTraits,
    effects: readonly Effect[],
    result: Result,
    answer: T,
    run_ms: number,
  ): T {
    if (!continues) this.counts.wall_ms += Math.max(0, run_ms)
    const code = result.ok ? undefined : result.error.code
    if (code !== undefined && guards.includes(code)) this.guarded += 1
    this.denials = code?.startsWith('VT_POLICY_') ? this.denials + 1 : 0
    if (continues) return answer
    const digest = sha256(stripTimes(answer.text), 'base64')
    const remark = this.loopDetector.record(identity, digest, {
      quiet: isQuiet(effects),
      write: effects.includes('write'),
    })
    return remark === undefined ? answer : { ...answer, text: `${answer.text}\n[VT_LOOP_CYCLE] ${remark}` }
  }

  /** Returns whether the turn is in a loop and has to end. */
  get isLooping(): boolean {
    const most = this.settings.harness.max_consecutive_blocked_tool_calls_per_turn
    return this.guarded >= mostGuarded || (most > 0 && this.denials >= most)
  }

  /** Returns the setting of a reached limit. */
  get reachedLimit(): string | undefined {
    return turnBounds.find(({ most, used }) => most(this.settings) > 0 && used(this.counts) >= most(this.settings))
      ?.setting
  }
}

/** Removes durations from a text: they do not make a result different. */
export const stripTimes = (text: string): string => text.replace(/\b\d+(\.\d+)?\s?(ms|s)\b/g, '')
