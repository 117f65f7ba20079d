import type { Effect, JsonObject, Mode, RightsScope } from '../../../core/shapes/index.js'
import type { ChildReport, ChildStatus } from './delegation_types.js'
import { isQuiet } from './effects.js'
import type { FileHash, ProofRun, Tracker, VerificationResult } from './finish_types.js'
import type { ImageRef, Msg, RefusedChange, ResetTrigger, RevertScope, Summary } from './types.js'

export type Fact =
  | ({ kind: 'segment'; segment_id: string; model: string; prompt: string; tools: string } & SegmentSources)
  | { kind: 'turn_start'; turn_id: string; input: Msg }
  /** `next`: the next step of the harness. */
  | { kind: 'turn_end'; status: 'completed' | 'failed'; code?: string; next?: string }
  /** `tells`: the subject that the model now knows; `request`: of an answer, for replays. */
  | { kind: 'message'; message: Msg; cost_usd?: number | null; tells?: ReminderKind; request?: RequestDigest }
  | { kind: 'call_start'; call_id: string; name: string; input: unknown; effects: readonly Effect[] }
  /** `applied`: the subject of a call that succeeded and may have changed something. */
  | {
      kind: 'call_end'
      call_id: string
      text: string
      is_error: boolean
      spool_path?: string
      images?: ImageRef[]
      changed?: string[]
      applied?: string
      not_applied?: RefusedChange
      /** Of the calls of a script that succeeded. */
      effects?: readonly Effect[]
    }
  /** A call of a script ended; `call_id`: of the script. */
  | {
      kind: 'script_call'
      call_id: string
      slot: string
      input: JsonObject
      effects: readonly Effect[]
      ok: boolean
      text: string
    }
  /** A value of the store of scripts, as JSON; without a value it is removed. */
  | { kind: 'store_value'; key: string; value?: string }
  | {
      kind: 'compaction'
      keep_from: number
      inserted: Msg[]
      history_path: string
      summary: Summary
      reset?: ResetTrigger
    }
  /** `texts`: call_id → the new text of the result. `inputs`: the inputs of these calls were removed too. */
  | { kind: 'cleared'; texts: Record<string, string>; inputs?: true }
  | { kind: 'revert'; to_turn: number; scope: RevertScope; paths?: readonly string[]; force?: true }
  | { kind: 'mode'; mode: Mode; by: 'person' | 'plan' | 'parent' }
  /** Contains the whole tracker. */
  | { kind: 'tracker'; by: 'model' | 'person' | 'planner' | 'harness'; tracker: Tracker }
  | { kind: 'goal'; text: string; verify: string[] }
  | { kind: 'goal_end'; how: 'met' | 'cleared' }
  /** `changes`: the number of calls with possible changes so far. */
  | { kind: 'verified'; result: VerificationResult; commands: ProofRun[]; changes: number; files: FileHash[] }
  /**
   * The text is in `prompts/<sha256>`; a later artifact of the same name replaces it. `path`: the copy for people;
   * `fresh`: the work starts with this text only.
   */
  | { kind: 'artifact'; name: ArtifactName; sha256: string; round: number; path?: string; fresh?: true }
  /** `round`: grows with each revision and each planned task. `cost_usd`: cost of the requests of the phase. */
  | { kind: 'phase'; phase: 'plan' | 'build' | 'done'; round: number; cost_usd?: number | null }
  /** The new state of a scheduled task. */
  | { kind: 'task'; task: SessionTask | { id: string; gone: true } }
  /**
   * The state of a delegated part, with its report if it has one. `told`: the model has read the result; `call_id`:
   * of the call that started it.
   */
  | { kind: 'child'; child: ChildStatus; report?: ChildReport; told?: true; call_id?: string }
  /** The session is a delegated part: the rights that it has, and the number of conversations above it. */
  | { kind: 'rights'; only: RightsScope; depth: number }
  | { kind: 'note'; text: string }
/** The sources of a segment that a replay cannot find elsewhere; older journals lack them. */
interface SegmentSources {
  mode?: Mode
  /** The rights of the conversation, if they limit its tools. */
  only?: RightsScope
  /** Tools that this conversation leaves out of those of the program. */
  left_out?: string[]
  /** The length of each section of the prompt, in UTF-16 units: a replay makes some of them again. */
  lengths?: { environment: number; instructions: number; task: number }
}
/**
 * A request in canonical form, as digests: the first 66 bits of a SHA-256 as base64url. Texts are redacted before. With
 * what the settings do not say: a replay builds the request again and compares it.
 */
export interface RequestDigest {
  prompt: string
  tools: string
  /** Model, limits and options of the wire as JSON; absent if those of the request before. */
  options?: string
  /** The number of messages that the request before had too; digests of the others follow in `messages`. */
  kept: number
  messages: string[]
  /** The window that errors of the server revealed. */
  window?: number
  effort?: string
  without_calls?: true | 'kept'
  no_tools?: true
  /** The server refused images before. */
  no_images?: true
}
/** A task that starts on a schedule while a person uses the conversation. Times are ISO 8601. */
export interface SessionTask {
  id: string
  prompt: string
  /** The interval, or a cron expression in a time zone. Without either the task runs once. */
  every_secs?: number
  cron?: { expression: string; tz: string }
  next: string
  ends?: string
}
/** A task that a model schedules; exactly one of the last three fields is the time. */
export interface TaskRequest {
  prompt: string
  /** Five cron fields, or a nickname such as `@daily`. */
  expression?: string
  every?: string
  run_at?: string
}
/** The scheduled tasks of a session. */
export interface SessionSchedule {
  /** Lists the tasks, earliest first. */
  list(): readonly SessionTask[]
  /**
   * Repeats `[interval] <prompt>` or `<prompt> every <interval>` for at most three days. Throws
   * VT_SCHED_BAD_EXPRESSION, VT_SCHED_FULL, VT_SCHED_DISABLED.
   */
  loop(text: string): Promise<SessionTask>
  /** Schedules `<HH:MM | +45m | RFC 3339> <text>` once. Throws the same codes as `loop`. */
  remind(text: string): Promise<SessionTask>
  /** Cancels the task of an id, or `all`. Returns the number of cancelled tasks. */
  cancel(id: string): Promise<number>
  /**
   * Returns the milliseconds until the next task is due while the conversation is idle; `undefined` if no task is
   * scheduled.
   */
  due(): number | undefined
}
/** The texts of a task that are stored outside of the conversation. */
export type ArtifactName = 'spec' | 'contract' | 'feature_list' | 'evaluation' | 'plan' | 'blocked'
/** The subject of a message of the harness, to report each subject once. */
export type ReminderKind = 'not_applied' | 'tracker' | 'blocked' | 'evaluation' | 'reports'
export type FactOf<K extends Fact['kind']> = Extract<Fact, { kind: K }>
/**
 * One line of messages.jsonl; `n` has no gap, `seal` is the user's mark, `crc` is the CRC-32 of the line without it,
 * in hex.
 */
export type JournalRecord = Fact & { n: number; ts: string; turn: number; lease?: number; seal?: string; crc: string }

/**
 * The time when a fact is flushed: at once, at once if the call may change something, or with the next flush, at the
 * end of the turn at the latest.
 */
type Durability = 'at once' | 'at once for changes' | 'with the next wait'

/** The facts of a journal, with their description and the time when they are on disk. */
export const factTable: { readonly [K in Fact['kind']]: { description: string; on_disk: Durability } } = {
  segment: {
    description:
      'A segment of steps begins, with a frozen prompt and a frozen list of tools. ' +
      'Their texts are in `prompts/<sha256>`.',
    on_disk: 'with the next wait',
  },
  turn_start: { description: 'A turn begins, with its input.', on_disk: 'with the next wait' },
  turn_end: { description: 'The turn ended, completed or with a code.', on_disk: 'with the next wait' },
  message: {
    description: 'A step of the model with its cost, the results of all its calls, or a message of the harness.',
    on_disk: 'with the next wait',
  },
  call_start: {
    description: 'A call begins: its name, its input, its possible effects.',
    on_disk: 'at once for changes',
  },
  call_end: {
    description:
      'The result of a call for the model: its text, digests of its images, changed files, ' +
      'and the reason if it was not applied.',
    on_disk: 'at once for changes',
  },
  script_call: {
    description: 'A call of a script ended: its slot, its input, its effects and its result.',
    on_disk: 'at once for changes',
  },
  store_value: { description: 'A script kept a value for later scripts, or removed it.', on_disk: 'at once' },
  compaction: {
    description: 'A summary or a fresh start replaced the messages before one message. They are in `history_path`.',
    on_disk: 'at once',
  },
  cleared: { description: 'Shorter texts replaced old results.', on_disk: 'with the next wait' },
  revert: { description: 'A separate turn that restores the state before another turn.', on_disk: 'at once' },
  child: {
    description: 'A delegated part of the work: its state, and its report.',
    on_disk: 'at once',
  },
  rights: {
    description: 'The session is a delegated part of another one, limited to these tools and paths.',
    on_disk: 'at once',
  },
  mode: {
    description: 'The mode of all later calls: a person chose it or accepted a plan, or the parent set it.',
    on_disk: 'at once',
  },
  tracker: {
    description: 'All steps of the task, as written by the model, a person, a planner or the harness.',
    on_disk: 'with the next wait',
  },
  goal: { description: 'A person set a goal: the run continues until it is met.', on_disk: 'at once' },
  goal_end: { description: 'The goal was met, or a person cleared it.', on_disk: 'at once' },
  verified: { description: 'The verification commands ran, with the result of each.', on_disk: 'at once' },
  artifact: {
    description: 'A text outside of the conversation: a plan, a text of a planner or evaluator, or a handoff.',
    on_disk: 'with the next wait',
  },
  phase: { description: 'A planned task entered a phase: plan, build or done.', on_disk: 'at once' },
  task: { description: 'A scheduled task was added, moved or removed.', on_disk: 'at once' },
  note: { description: 'A note for readers of the journal.', on_disk: 'with the next wait' },
}

/** Returns whether the writer of a fact waits for the disk; `started`: the calls whose effects are known. */
export function shouldAwaitDisk(fact: Fact, started: ReadonlyMap<string, FactOf<'call_start'>>): boolean {
  const { on_disk } = factTable[fact.kind]
  if (on_disk !== 'at once for changes') return on_disk === 'at once'
  const known = 'effects' in fact ? fact.effects : undefined
  return !isQuiet(known ?? ('call_id' in fact ? started.get(fact.call_id)?.effects : undefined) ?? [])
}
