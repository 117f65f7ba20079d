import type { Effect, Mode, RightsLeft } from '../../../core/shapes/index.js'
import type { ChildReport, ChildStatus } from './delegation_types.js'
import { isQuiet } from './effects.js'
import type { FileHash, ProofRun, Tracker, VerificationResult } from './finish_types.js'
import type { ImageRef, Msg, RefusedChange, ResetTrigger, RevertScope, Summary } from './types.js'

export type Fact =
  | { kind: 'segment'; segment_id: string; model: string; prompt: string; tools: string }
  | { kind: 'turn_start'; turn_id: string; input: Msg }
  /** `next`: the harness goes on with this. */
  | { kind: 'turn_end'; status: 'completed' | 'failed'; code?: string; next?: string }
  /** `tells`: what the model now knows. */
  | { kind: 'message'; message: Msg; cost_usd?: number | null; tells?: Told }
  | { kind: 'call_start'; call_id: string; name: string; input: unknown; effects: readonly Effect[] }
  /** `applied`: what a call was about that was made and may have changed something. */
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
    }
  | {
      kind: 'compaction'
      keep_from: number
      inserted: Msg[]
      history_path: string
      summary: Summary
      reset?: ResetTrigger
    }
  /** `texts`: call_id → what stands there now. With `inputs` what was asked left too. */
  | { kind: 'cleared'; texts: Record<string, string>; inputs?: true }
  | { kind: 'revert'; to_turn: number; scope: RevertScope; paths?: readonly string[]; force?: true }
  | { kind: 'mode'; mode: Mode; by: 'person' | 'plan' | 'parent' }
  /** The whole of it. */
  | { kind: 'tracker'; by: 'model' | 'person' | 'planner' | 'harness'; tracker: Tracker }
  | { kind: 'goal'; text: string; verify: string[] }
  | { kind: 'goal_end'; how: 'met' | 'cleared' }
  /** `changes`: how many calls that may change something the model had made by then. */
  | { kind: 'verified'; result: VerificationResult; commands: ProofRun[]; changes: number; files: FileHash[] }
  /** Its text lies in `prompts/<sha256>`; a later one of the same name takes its place. `path`: where people find it; `fresh`: the work begins with it alone in mind. */
  | { kind: 'artifact'; name: ArtifactName; sha256: string; round: number; path?: string; fresh?: true }
  /** `round`: grows with each revision, and with each task that is planned. `cost_usd`: of the requests that led there. */
  | { kind: 'phase'; phase: 'plan' | 'build' | 'done'; round: number; cost_usd?: number | null }
  /** Something that begins by itself, as it is from now on. */
  | { kind: 'task'; task: SessionTask | { id: string; gone: true } }
  /** A part of the work that an agent does, as it stands; with its report once that is there. `told`: the model has read how it ended; `call_id`: of the call that began it. */
  | { kind: 'child'; child: ChildStatus; report?: ChildReport; told?: true; call_id?: string }
  /** This session does a part of the work of another one: what that leaves it, and how many conversations are above it. */
  | { kind: 'rights'; only: RightsLeft; depth: number }
  | { kind: 'note'; text: string }
/** Begins by itself while somebody sits at the conversation. Instants are ISO 8601. */
export interface SessionTask {
  id: string
  prompt: string
  /** Each so often, or by a cron expression in a zone. Without either it happens once. */
  every_secs?: number
  cron?: { expression: string; tz: string }
  next: string
  ends?: string
}
/** What a model asks for: one of the three says when. */
export interface AskedTask {
  prompt: string
  /** Five fields of cron, or a nickname. */
  expression?: string
  every?: string
  run_at?: string
}
/** What begins by itself in a session, for whoever sits at it. */
export interface SessionSchedule {
  /** The earliest first. */
  list(): readonly SessionTask[]
  /** `[interval] <prompt>` or `<prompt> every <interval>`: again and again, for at most three days. Throws VT_SCHED_BAD_EXPRESSION, VT_SCHED_FULL, VT_SCHED_DISABLED. */
  loop(text: string): Promise<SessionTask>
  /** `<HH:MM | +45m | RFC 3339> <text>`: once. Throws as `loop` does. */
  remind(text: string): Promise<SessionTask>
  /** How many went: those of an id, or `all`. */
  cancel(id: string): Promise<number>
  /** Milliseconds until something is due, where a person sits at the conversation and no turn is open; `undefined` where nothing comes. */
  due(): number | undefined
}
/** What is kept of a task beside the conversation. */
export type ArtifactName = 'spec' | 'contract' | 'feature_list' | 'evaluation' | 'plan' | 'blocked'
/** What a message of the harness tells the model, so that it is told once. */
export type Told = 'not_applied' | 'tracker' | 'blocked' | 'evaluation' | 'reports'
export type FactOf<K extends Fact['kind']> = Extract<Fact, { kind: K }>
/** One line of messages.jsonl; `n` has no gap, `seal` is the user's mark, `crc` is the CRC-32 of the line without it, in hex. */
export type JournalRecord = Fact & { n: number; ts: string; turn: number; seal?: string; crc: string }

/** When a fact is on disk: before anything else happens; so where the call may change something; or with the next wait, that of the turn's end at the latest. */
type OnDisk = 'at once' | 'at once for changes' | 'with the next wait'

/** What a journal may hold: what each fact says, and when it is on disk. */
export const factTable: { readonly [K in Fact['kind']]: { says: string; on_disk: OnDisk } } = {
  segment: {
    says: 'A stretch of steps begins with one frozen prompt and one frozen list of tools; their texts are in `prompts/<sha256>`.',
    on_disk: 'with the next wait',
  },
  turn_start: { says: 'A turn begins, with its input.', on_disk: 'with the next wait' },
  turn_end: { says: 'The turn ended, completed or with a code.', on_disk: 'with the next wait' },
  message: {
    says: 'A step of the model with what it cost, the results of all its calls, or a message that no person wrote.',
    on_disk: 'with the next wait',
  },
  call_start: { says: 'A call begins: its name, its input, what it can do at worst.', on_disk: 'at once for changes' },
  call_end: {
    says: 'The result of a call as the model reads it, with its images by their digests, the files it changed, and why it was not applied.',
    on_disk: 'at once for changes',
  },
  compaction: {
    says: 'The messages before one gave way to a summary, or to a fresh start; they are in `history_path`.',
    on_disk: 'at once',
  },
  cleared: { says: 'Old results gave way to a shorter text.', on_disk: 'with the next wait' },
  revert: { says: 'A turn of its own that restores what was before another one.', on_disk: 'at once' },
  child: {
    says: 'A part of the work that an agent does: it waits, runs, or ended, with its report.',
    on_disk: 'at once',
  },
  rights: {
    says: 'The session does a part of the work of another one, which leaves it these tools and paths, whoever opens it.',
    on_disk: 'at once',
  },
  mode: {
    says: 'The mode of all calls from now on: a person chose it, accepted a plan, or gave a part of the work.',
    on_disk: 'at once',
  },
  tracker: {
    says: 'The steps of the task, all of them, as the model, a person or a planner left them.',
    on_disk: 'with the next wait',
  },
  goal: { says: 'A person set a goal: the run goes on until it is met.', on_disk: 'at once' },
  goal_end: { says: 'The goal was met, or a person cleared it.', on_disk: 'at once' },
  verified: { says: 'The commands that prove the work ran; what came of each.', on_disk: 'at once' },
  artifact: {
    says: 'A text beside the conversation: a plan, what a planner or an evaluator wrote, a handoff for whoever goes on.',
    on_disk: 'with the next wait',
  },
  phase: { says: 'A task that is planned, built and evaluated comes to one of these.', on_disk: 'at once' },
  task: { says: 'Something begins by itself from now on, is due at another time, or is gone.', on_disk: 'at once' },
  note: { says: 'Something for whoever reads the journal.', on_disk: 'with the next wait' },
}

/** Whether whoever writes a fact waits for the disk; `effects` are those of the call that it is about. */
export const waitsForDisk = ({ kind }: Fact, effects: readonly Effect[]): boolean =>
  factTable[kind].on_disk === 'at once' || (factTable[kind].on_disk === 'at once for changes' && !isQuiet(effects))
