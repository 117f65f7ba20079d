import { omitUndefined, failure, fail, ok, type Result } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { formatNames } from '../../lib/base/index.js'
import {
  AgentError,
  type GoalProgress,
  type OutcomeCode,
  type ProofRun,
  type Tracker,
  type Verification,
} from '../base/index.js'
import type { Completion, RefusedChanges } from '../loop/index.js'
import { decide } from './decide.js'
import { handOff, showHandoff } from './handoff.js'
import {
  findValidProof,
  addItem,
  createTracker,
  formatItems,
  summarizeTracker,
  updateTracker,
  type GivenItem,
  type GivenTracker,
  type ItemUpdate,
  TrackerFile,
  listChangedFiles,
  checkCommands,
  listCommands,
  hashFiles,
  runProofs,
  type Verified,
} from '../task/index.js'
import { Plans, type PlanEnd } from './plan.js'
import { PlannedTask, type PlannedConversation } from './planned_task.js'
import { freshStart } from './fresh_start.js'

/** A conversation with the state of its task. */
export interface FinishConversation extends PlannedConversation {
  readonly state: PlannedConversation['state'] & RefusedChanges
}
/** Options of the person who starts a run. */
export interface FinishOptions {
  /** Commands that prove the work; naming a command agrees to exactly this command. */
  verify?: readonly string[]
  /** Delegated and scheduled work. */
  delegated?: DelegatedWork
}
/** Work next to a conversation, and the report of a delegated one. */
export interface DelegatedWork {
  /** Reports unread results to the model. */
  remind(): Promise<void>
  /** Returns the report that ends the turn, once. */
  takeEnd(): PlanEnd | undefined
}

const longestGoal = 4000

/** Outcomes that leave work undone. */
const unfinished: ReadonlySet<OutcomeCode> = new Set([
  'tool_loop_limit_reached',
  'loop_detected',
  'handed_off',
  'turn_limit_reached',
  'budget_limit_reached',
])
// Surfaces without a person during the run.
const headless = new Set(['exec', 'resume'])

/** Ends a task: its tracker, its proof, and what follows an answer. */
export class Finish implements Completion {
  /** Proposed plans and the decisions about them. */
  readonly plans: Plans
  private readonly file: TrackerFile
  private readonly planned: PlannedTask
  private last: Verified | undefined
  /** Refused commands and unwritable paths, reported once each. */
  private readonly remarked = new Set<string>()
  private opened = false

  constructor(
    private readonly thread: FinishConversation,
    private readonly options: FinishOptions,
    private readonly resumed: boolean,
  ) {
    checkCommands(this.agreed)
    this.plans = new Plans(thread)
    this.file = new TrackerFile(thread.workspace, thread.session_id)
    this.planned = new PlannedTask(thread)
  }

  /** The run continues until its tasks are done and proved. */
  get on(): boolean {
    const { settings, state, surface, mode } = this.thread
    const { continuation_policy: policy } = settings.harness
    if (policy === 'off' || mode === 'plan' || surface === 'ask') return false
    return (
      policy === 'all' ||
      headless.has(surface) ||
      mode === 'full-auto' ||
      state.goal !== undefined ||
      this.agreed.length > 0
    )
  }
  /** Tasks of this run are planned, built and evaluated. */
  private get evaluated(): boolean {
    const { settings, surface, mode } = this.thread
    return (
      settings.harness.orchestration_mode !== 'single' && this.on && (headless.has(surface) || mode === 'full-auto')
    )
  }
  private get agreed(): readonly string[] {
    return this.options.verify ?? []
  }

  /** Takes over the edits of people to the tracker before a turn. */
  async beginTurn(): Promise<void> {
    if (!this.opened && this.resumed) this.resumes = true
    this.opened = true
    this.turnIsNew = true
    await this.planned.readBack()
    if (!this.thread.state.tracker) return
    const edit = await this.file.readEdit()
    if (edit && 'tracker' in edit) await this.thread.commit({ kind: 'tracker', by: 'person', tracker: edit.tracker })
    else if (edit) await this.thread.remark('VT_TASK_FILE', edit.problem)
  }
  private resumes = false
  /** The model has not been asked in this turn. */
  private turnIsNew = false

  /** Writes the tracker for people after a turn. */
  async endTurn(): Promise<void> {
    const { tracker } = this.thread.state
    if (!tracker) return
    const inTheWay = await this.file.write(tracker).catch((error: unknown) => (error as Error).message)
    if (inTheWay !== undefined && !this.remarked.has(inTheWay)) {
      this.remarked.add(inTheWay)
      await this.thread.remark('VT_TASK_FILE', `The tracker cannot be written to a file: ${inTheWay}`)
    }
  }

  async planTask(signal: AbortSignal): Promise<void> {
    if (this.evaluated) await this.planned.plan(signal)
  }
  describeTask(): Promise<string> {
    return this.planned.describeTask()
  }

  async remind(): Promise<void> {
    const { state } = this.thread
    if (this.turnIsNew) await freshStart(this.thread)
    this.turnIsNew = false
    await this.planned.remind()
    if (this.resumes) {
      this.resumes = false
      await showHandoff(this.thread)
    }
    await this.options.delegated?.remind()
    if (!state.reminder_due) return
    // The first prompt already has the goal.
    const isInPrompt = state.goal && state.messages.length <= 1
    const text = [
      ...(state.goal && !isInPrompt ? [`Goal: ${state.goal.text}`] : []),
      ...(state.tracker ? summarizeTracker(state.tracker) : []),
      ...(await this.plans.describeAcceptedPlan()),
    ].join('\n')
    if (text !== '') await this.thread.inject(text, 'harness', 'tracker')
  }

  async decideNext(refusalsRead: boolean, signal: AbortSignal): ReturnType<Completion['decideNext']> {
    const { thread, on } = this
    const decision = await this.decide(refusalsRead, signal)
    if (decision.kind === 'continue') await thread.harness('continuation_started', { message: decision.why })
    if (decision.kind === 'report' || decision.kind === 'continue') return decision
    if (decision.kind !== 'end') throw new Error('The commands ran already.')
    if (decision.outcome === 'failed') return decision
    const { outcome } = decision
    if (outcome !== 'success') {
      const handoff = await handOff(thread, outcome, { says: this.last?.failed?.says ?? '' })
      return { kind: 'end', outcome, ...omitUndefined({ handoff }) }
    }
    const { waiting } = this
    if (on && waiting) await thread.harness('continuation_skipped', { message: 'An input of the user is pending.' })
    if (on && !waiting && thread.state.goal) await thread.commit({ kind: 'goal_end', how: 'met' })
    return { kind: 'end', outcome }
  }
  private async decide(refusalsRead: boolean, signal: AbortSignal) {
    const { state } = this.thread
    // A message may arrive while commands run or the work is evaluated.
    const around = () => ({ refusalsRead: refusalsRead, on: this.on, waiting: this.waiting, evaluated: this.evaluated })
    const first = decide(state, around())
    const verified = first.kind === 'verify' ? await this.prove(signal) : undefined
    const ran = omitUndefined({ failed: verified?.failed })
    const second = first.kind === 'verify' ? decide(state, { ...around(), ran }) : first
    const third = second.kind === 'evaluate' ? await this.planned.evaluate(verified ?? this.last, signal) : second
    return third.kind === 'continue' && this.waiting ? ({ kind: 'end', outcome: 'success' } as const) : third
  }
  private get waiting(): boolean {
    const { queue, state } = this.thread
    // The input of the open turn stays in the queue until its end.
    return queue.pending.some(({ id }) => id !== state.open?.input.intent_id)
  }

  async writeHandoff(outcome: OutcomeCode): Promise<string | undefined> {
    return this.on && unfinished.has(outcome)
      ? handOff(this.thread, outcome, { says: this.last?.failed?.says ?? '' })
      : undefined
  }

  /** Returns the end of the turn if a call decided it. */
  takeEnd(): PlanEnd | undefined {
    return this.options.delegated?.takeEnd() ?? this.plans.takeEnd()
  }

  private async prove(signal: AbortSignal): Promise<Verified | undefined> {
    const { thread, agreed } = this
    const { required, commands: configured } = thread.settings.harness.verification
    if (required === 'never') return undefined
    const { state, workspace } = thread
    const commands = await listCommands(state, [...agreed, ...configured], workspace)
    if (commands.length === 0) return undefined
    // Hashed first: the commands did not run against their own changes.
    const files = await hashFiles(workspace, state.touched)
    this.last = await runProofs(thread, commands, agreed, signal)
    const { result, ran, refused } = this.last
    await thread.commit({
      kind: 'verified',
      result,
      commands: ran.map(({ says: _, path: __, ...one }): ProofRun => one),
      changes: state.changes,
      files,
    })
    const other = listChangedFiles(files, await hashFiles(workspace, state.touched))
    if (other.length > 0)
      await thread.remark(
        'VT_TASK_CHANGED',
        'Files of the task changed while the commands ran: ' +
          `${formatNames(other.map(({ path }) => path))}. The commands proved the files as they were ` +
          'before.',
      )
    for (const { command, hint } of refused) {
      if (this.remarked.has(command)) continue
      this.remarked.add(command)
      await thread.remark(
        'VT_TASK_NOT_VERIFIED',
        `\`${truncateLine(command, 200)}\` would prove the work and may not run unasked: ${hint}`,
      )
    }
    return this.last
  }

  /** The proof at the end of the run; `null` if nothing had to be proved. */
  get proof(): { verified: boolean | null; verification?: Verification } {
    const { on, thread } = this
    const { verified, files_changed } = thread.state
    const { required } = thread.settings.harness.verification
    if (!on && !verified) return { verified: null }
    const holds = findValidProof(thread.state)
    if (holds)
      return { verified: holds.result === 'passed', verification: { result: holds.result, commands: holds.commands } }
    return on && files_changed && required !== 'never'
      ? { verified: false, verification: { result: 'none', commands: [] } }
      : { verified: null }
  }

  /** Returns the outcome of a run; unproved work is no success. */
  outcome(code: OutcomeCode): OutcomeCode {
    return code === 'success' &&
      this.thread.settings.harness.verification.required === 'always' &&
      this.proof.verified === false
      ? 'escalated'
      : code
  }

  /** Sets the goal. Throws VT_CONFIG_INVALID for a goal or command that is empty or too long. */
  async setGoal(text: string, commands: readonly string[]): Promise<void> {
    checkCommands(commands)
    const { length } = text.trim()
    const hint = 'Say it in a few sentences; a file can have the rest.'
    if (length === 0 || length > longestGoal)
      throw new AgentError('VT_CONFIG_INVALID', `A goal has 1 to ${longestGoal} characters; this one has ${length}.`, {
        hint,
      })
    await this.thread.commit({ kind: 'goal', text, verify: [...commands] })
  }
  /** The progress of the goal, if there is one. */
  get progress(): GoalProgress | undefined {
    const { goal, turn, cost, verified } = this.thread.state
    if (!goal) return undefined
    const { turns, cost: before } = goal.since
    const verification = verified && { result: verified.result, commands: verified.commands }
    return {
      turns: turn - turns,
      cost_usd: cost === null || before === null ? null : cost - before,
      ...(verification && { verification }),
    }
  }
  async clearGoal(): Promise<void> {
    if (this.thread.state.goal) await this.thread.commit({ kind: 'goal_end', how: 'cleared' })
  }

  // Actions of the tracker: each returns the whole list, one line per item.
  create(given: GivenTracker): Promise<Result> {
    return this.track(() => createTracker(given))
  }
  update(change: ItemUpdate): Promise<Result> {
    return this.track((tracker) => updateTracker(tracker, change))
  }
  add(item: GivenItem, after?: number): Promise<Result> {
    return this.track((tracker) => addItem(tracker, item, after))
  }
  list(): Result {
    const { tracker } = this.thread.state
    return tracker ? showTracker(tracker) : none
  }

  private async track(change: (tracker: Tracker) => Tracker): Promise<Result> {
    const { tracker } = this.thread.state
    try {
      const next = change(tracker ?? { title: '', items: [] })
      if (next.title === '') return none
      if (JSON.stringify(next) !== JSON.stringify(tracker))
        await this.thread.commit({ kind: 'tracker', by: 'model', tracker: next })
      return showTracker(next)
    } catch (error) {
      const refusal = failure(error)
      if (!refusal) throw error
      return !tracker && refusal.error.code === 'VT_TASK_INDEX' ? none : refusal
    }
  }
}

const none = fail('VT_TASK_INDEX', 'There is no tracker yet.', {
  hint: 'Begin one with {slot:task_tracker/create}: give a title and items.',
})

function showTracker(tracker: Tracker): Result {
  const several = tracker.items.filter(({ status }) => status === 'in_progress').length > 1
  const lines = [...formatItems(tracker), ...(several ? ['More than one item is in progress.'] : [])]
  return ok(
    {
      title: tracker.title,
      items: tracker.items as unknown as object[],
      ...omitUndefined({ notes: tracker.notes }),
    } as never,
    { text: lines.join('\n') },
  )
}
