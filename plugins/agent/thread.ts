import type { Mode, Result, RightsScope } from '../../core/shapes/index.js'
import { version } from '../../core/system/index.js'
import { redact } from '../../core/text/index.js'
import { MODES } from '../../core/config/index.js'
import type { Kernel } from '../../core/contract/index.js'
import type { OpenWorkspace } from '../../core/workspace/index.js'
import { FileSnapshots } from '../lib/snapshots/index.js'
import {
  AgentError,
  findHint,
  createIdMaker,
  LoopDetector,
  outcomeTable,
  shouldAwaitDisk,
  type AgentProviders,
  type AgentSettings,
  type Fact,
  type HarnessEvent,
  type Msg,
  type OutcomeCode,
  type RunOutcome,
  type Store,
  type Subtype,
  type TaskMemory,
  type ThreadItem,
  type ReminderKind,
} from './base/index.js'
import { ContextWindow, Segments } from './context/index.js'
import { intersectRights, Delegation } from './delegation/index.js'
import { Events } from './events/index.js'
import { Finish } from './finish/index.js'
import { CostLedger } from './ledger/index.js'
import {
  Approvals,
  createDeferredApprovals,
  LifecycleHooks,
  ModelRequests,
  runTurn,
  writeAndNameHandoff,
  type LoopConversation,
  type TurnEnd,
} from './loop/index.js'
import type { ModelConnection } from './model/index.js'
import { SessionTasks } from './schedule/index.js'
import { abandonTurn, type Restored } from './history/index.js'
import { formatRecord, ManifestWriter, messageText, Queue, redactWords, type HowCalled } from './session/index.js'
import { createScriptJournal, createServices } from './services.js'
import { resolveThreadSettings, threadTable, type ThreadOptions, type ThreadState } from './thread_state.js'

/** One conversation with all of its parts. Everything that lasts goes through `commit` and `events`. */
export class Thread implements LoopConversation {
  readonly kernel: Kernel
  readonly workspace: OpenWorkspace
  readonly providers: AgentProviders
  readonly session_id: string
  readonly thread_id: string
  readonly surface: string
  readonly only: RightsScope | undefined
  readonly settings: AgentSettings
  readonly events: Events
  readonly queue: Queue
  readonly state: ThreadState
  readonly loopDetector = new LoopDetector()
  readonly approvals: Approvals
  readonly context: ContextWindow
  readonly requests = new ModelRequests(this)
  readonly tasks = new SessionTasks(this)
  readonly lifecycle: LifecycleHooks
  readonly completion: Finish
  readonly delegation: Delegation
  readonly costs: CostLedger
  readonly snapshots: FileSnapshots
  readonly newId: ReturnType<typeof createIdMaker>
  connection: ModelConnection
  corrections = 0
  private resumed: Restored<ThreadState> | undefined
  readonly store: Store
  private written: number
  private tail: Promise<void> = Promise.resolve()
  private readonly manifestWriter: ManifestWriter
  /** Ends only the open turn. */
  private turn: AbortController | undefined
  private turns = 0
  private began = 0
  private last: TurnEnd = { outcome: 'success', text: '' }

  constructor(options: ThreadOptions) {
    this.kernel = options.kernel
    this.workspace = options.workspace
    this.providers = options.providers
    this.session_id = options.session_id
    this.thread_id = options.thread_id
    this.surface = options.surface
    this.connection = options.connection
    this.store = options.store
    this.manifestWriter = new ManifestWriter(this, options.manifest)
    this.context = new ContextWindow(this, new Segments(this, options.with_tools))
    this.settings = resolveThreadSettings(options)
    this.newId = createIdMaker(options.providers.clock, options.providers.random)
    this.events = new Events(options.thread_id, options.providers.clock, options.restored?.unfinished.seq)
    this.lifecycle = new LifecycleHooks(this, options.start_reason)
    this.approvals = new Approvals(
      this.events,
      options.providers,
      (message) => this.lifecycle.notifyWaiting(message),
      createDeferredApprovals(this, options.child?.plan.asker),
    )
    this.snapshots = new FileSnapshots(options.workspace, options.session_id)
    this.queue = new Queue(options.store, options.providers.clock, options.providers.random)
    this.state = options.restored?.state ?? threadTable.begin()
    // A session of delegated work keeps its limits, even when opened directly.
    this.only = options.child ? options.only : intersectRights(options.kernel, this.state.part?.only, options.only)
    this.resumed = options.restored
    this.costs = new CostLedger(this.state.cost ?? 0, options.child?.costs)
    this.delegation = new Delegation(this, options.open_child, options.child?.plan)
    this.completion = new Finish(
      this,
      { ...options.finish, delegated: this.delegation },
      options.restored !== undefined,
    )
    this.written = options.restored?.records.length ?? 0
  }

  readonly tools: LoopConversation['tools'] = (how) =>
    this.delegation.filterTools(
      this.tasks.filterTools(
        this.kernel.tools({
          ...how,
          audience: 'agent',
          mode: this.mode,
          ...(this.only?.tools && { only: this.only.tools }),
        }),
      ),
    )

  readonly describeTask = async (): Promise<string> =>
    [this.delegation.assignment, await this.completion.describeTask()].filter((text) => text !== '').join('\n\n')

  async perform(name: string, input: unknown, { call_id, prepared, ...how }: HowCalled): Promise<Result> {
    const { providers, session_id: session, surface, mode, only } = this
    const sandbox = providers.sandbox.choose(name, input)
    const rights = {
      mode,
      ...(only && { only }),
      audiences: ['agent', 'delegation'],
      ...(sandbox !== 'workspace' && { sandbox }),
    }
    return providers.execute.run(
      name,
      input,
      {
        ...how,
        session,
        surface,
        ...rights,
        conversation: createServices(this, call_id),
        scripts: createScriptJournal(this, call_id ?? name),
      },
      prepared,
    )
  }

  get mode(): Mode {
    return this.kernel.inspection.resolveMode(this.state.mode)
  }

  /** Returns the mode in force, at most what the kernel permits. Throws VT_CONFIG_INVALID. */
  async setMode(mode: Mode): Promise<Mode> {
    if (!MODES.includes(mode))
      throw new AgentError('VT_CONFIG_INVALID', `Unknown mode '${String(mode).slice(0, 40)}'.`, {
        hint: `The modes are ${MODES.join(', ')}.`,
      })
    // The kernel may permit a wider mode later.
    await this.commit({ kind: 'mode', mode: this.kernel.inspection.resolveMode(mode), by: 'person' })
    return this.mode
  }

  /** Starts the run and its events. */
  async start(): Promise<void> {
    const { session_id, connection, kernel } = this
    this.costs.begin()
    this.delegation.startRun()
    this.turns = 0
    this.corrections = 0
    this.began = this.providers.clock.now()
    const { parent_thread_id } = this.manifestWriter
    const forked = parent_thread_id === undefined ? {} : { parent_thread_id }
    await this.manifestWriter.open()
    await this.events.emit({
      type: 'thread.started',
      session_id,
      model: connection.model.id,
      mode: this.mode,
      cwd: kernel.workspace,
      version,
      ...forked,
    })
  }

  /**
   * Writes a fact to the journal, then applies it. The fact survives the death of the process. Facts that must be
   * durable wait for the disk; others are synced at the next wait, at the latest at the end of the turn.
   */
  commit(fact: Fact): Promise<void> {
    fact = redactWords(fact)
    const turn = fact.kind === 'turn_start' ? this.state.turn + 1 : this.state.turn
    const line = formatRecord(
      fact,
      this.written + 1,
      turn,
      new Date(this.providers.clock.now()).toISOString(),
      this.store.mark,
      this.store.lease,
    )
    // A fact that exceeds a line gets no number: the journal has no gap.
    this.written += 1
    this.context.handleFact(fact)
    this.tail = this.tail.then(async () => {
      await this.store.append('messages.jsonl', line)
      if (shouldAwaitDisk(fact, this.state.started)) await this.store.sync('messages.jsonl')
      threadTable.apply(this.state, fact, turn)
      await this.lifecycle.record(fact)
    })
    return this.tail
  }

  async inject(text: string, origin: 'harness' | 'instructions' = 'harness', tells?: ReminderKind): Promise<void> {
    await this.commit({
      kind: 'message',
      message: { role: 'user', parts: [{ type: 'text', text }], origin },
      ...(tells && { tells }),
    })
    await this.events.emitItem({ id: this.newId('it'), type: 'user_message', text, origin })
  }
  readonly collectMemory = (): TaskMemory => threadTable.collectMemory(this.state)
  /** Shows a notice to the person. */
  remark(code: string, message: string): Promise<void> {
    return this.events.emitItem({ id: this.newId('it'), type: 'error', message, code })
  }
  harness(
    event: HarnessEvent,
    fields: Omit<ThreadItem & { type: 'harness' }, 'id' | 'type' | 'event'> = {},
  ): Promise<void> {
    return this.events.emitItem({ id: this.newId('it'), type: 'harness', event, ...fields })
  }

  /** Runs turns until nothing is pending: first `input`, then the queue. */
  async run(input: Msg | undefined, signal: AbortSignal): Promise<TurnEnd> {
    if (this.resumed)
      await this.harness(
        'resumed',
        this.resumed.torn ? { message: 'The last line of the journal is incomplete and is ignored.' } : {},
      )
    this.resumed = undefined
    await this.lifecycle.begin(signal)
    // A new task abandons the interrupted turn.
    if (input && this.state.open) await abandonTurn(this)
    let next: Msg | undefined = input ?? (this.state.open ? undefined : await this.findNextInput(signal))
    while (next || this.state.open) {
      const refusal = this.refuseTurn(next) ?? (next && (await this.refusePrompt(next, signal)))
      if (refusal) return (this.last = await writeAndNameHandoff(this, refusal))
      this.turn = new AbortController()
      await this.completion.beginTurn()
      this.last = await runTurn(this, next, AbortSignal.any([signal, this.turn.signal]))
      this.turns += 1
      await this.completion.endTurn()
      if (this.last.failure?.code === 'VT_SESSION_WRITE') break
      if (next?.intent_id !== undefined)
        await this.store.sync('messages.jsonl').then(() => this.queue.markApplied(next!.intent_id!))
      const steered = this.turn.signal.aborted && !signal.aborted
      if (this.last.outcome !== 'success' && !steered) break
      next = await this.findNextInput(signal)
      if (!next && signal.aborted && this.delegation.busy) this.last = { ...this.last, outcome: 'cancelled' }
      if (!next) break
      // Idle boundary: the turn is on disk before anything else begins.
      this.manifestWriter.save('idle')
      await this.store.sync()
    }
    this.turn = undefined
    return this.last
  }

  /** Returns the next input: of people, of schedules, of the harness, of agents, in this order. */
  private async findNextInput(signal: AbortSignal): Promise<Msg | undefined> {
    const { continuation } = this.state
    const waiting =
      (await this.queue.next()) ??
      (await this.tasks.next()) ??
      (continuation === undefined
        ? undefined
        : ({ role: 'user', parts: [{ type: 'text', text: continuation }], origin: 'harness' } as const))
    return waiting ?? (await this.delegation.next(signal)) ?? (await this.queue.next())
  }

  /** Ends the open turn; `text` is the next input, before all that wait. */
  async steer(text: string, id?: string): Promise<string> {
    const queued = await this.queue.add(text, { first: true, ...(id !== undefined && { id }) })
    this.turn?.abort(new Error('The user sent another input.'))
    return queued
  }

  private refuseTurn(next: Msg | undefined): TurnEnd | undefined {
    const { tools, automation, harness } = this.settings
    const { max_turns } = automation.full_auto
    if (next && tools.max_conversation_turns > 0 && this.state.turn >= tools.max_conversation_turns) {
      return {
        outcome: 'failed',
        text: '',
        failure: new AgentError(
          'VT_LOOP_SESSION_TURNS',
          `The session has as many turns as it may have, ${this.state.turn}.`,
        ),
      }
    }
    const over =
      harness.max_run_wall_clock_secs > 0 &&
      this.providers.clock.now() - this.began > harness.max_run_wall_clock_secs * 1000
    if (over || (max_turns > 0 && this.turns >= max_turns)) return { ...this.last, outcome: 'turn_limit_reached' }
    return undefined
  }

  /** Asks the hooks; a refused input leaves no trace in the conversation and is removed from the queue. */
  private async refusePrompt(input: Msg, signal: AbortSignal): Promise<TurnEnd | undefined> {
    if (input.origin === 'harness') return undefined
    const reason = await this.lifecycle.checkPrompt(messageText(input), signal)
    if (reason === undefined) return undefined
    if (input.intent_id !== undefined) await this.queue.markApplied(input.intent_id)
    return {
      outcome: 'failed',
      text: '',
      failure: new AgentError('VT_PROMPT_BLOCKED', `A lifecycle hook refused the input: ${reason}`),
    }
  }

  /** Emits the end of the run as its last event; the run fails if it cannot be written. */
  async finish(): Promise<RunOutcome> {
    await this.delegation.endRun()
    const { outcome } = this.last
    const refused = this.state.not_applied.some(({ code }) => code.startsWith('VT_POLICY_'))
    const code = this.completion.outcome(outcome === 'success' && refused ? 'escalated' : outcome)
    const { text, failure } = this.last
    try {
      if (failure?.code !== 'VT_SESSION_WRITE') this.manifestWriter.recordOutcome(code)
      await this.events.emit({
        type: 'thread.completed',
        outcome_code: code,
        ...this.toCommonFields(outcomeTable[code].subtype),
        num_steps: this.state.steps,
        ...this.completion.proof,
        ...this.getNotApplied(),
        ...(text !== '' && { result: text }),
        ...(failure && { stop_reason: failure.code }),
      })
      return this.createOutcome(code)
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      this.last = { outcome: 'failed', text: '', failure: error }
      return this.createOutcome('failed')
    }
  }

  /** Returns the outcome of a run that cannot begin. */
  refuseRun(failure: AgentError): RunOutcome {
    this.costs.begin()
    this.turns = 0
    this.last = { outcome: 'failed', text: '', failure }
    return this.createOutcome('failed')
  }

  private createOutcome(code: OutcomeCode): RunOutcome {
    const { text, failure } = this.last
    const { subtype, exit_code } = outcomeTable[code]
    const error = failure && {
      code: failure.code,
      message: failure.message,
      hint: failure.extra.hint ?? findHint(this.kernel, failure.code),
    }
    return redact({
      outcome_code: code,
      exit_code,
      text,
      ...this.toCommonFields(subtype),
      num_requests: this.costs.requests,
      ...this.completion.proof,
      ...this.getNotApplied(),
      ...(error && { error }),
    })
  }
  private getNotApplied(): Pick<RunOutcome, 'not_applied'> {
    const { not_applied } = this.state
    return not_applied.length > 0 ? { not_applied } : {}
  }
  private toCommonFields(
    subtype: Subtype,
  ): Pick<RunOutcome, 'session_id' | 'subtype' | 'usage' | 'total_cost_usd' | 'num_turns'> {
    return {
      session_id: this.session_id,
      subtype,
      usage: this.costs.run.usage,
      total_cost_usd: this.costs.run.cost,
      num_turns: this.turns,
    }
  }

  /** Waits for pending writes and releases the session. Throws VT_SESSION_WRITE if a write fails. */
  async close(): Promise<void> {
    await Promise.allSettled([this.delegation.endRun().then(() => this.delegation.leave()), this.tail])
    const { outcome } = this.last
    this.manifestWriter.complete()
    await Promise.allSettled([this.manifestWriter.waitForWrites()])
    await this.lifecycle.end(outcome === 'success' ? 'completed' : outcome === 'cancelled' ? 'cancelled' : 'error')
    await this.kernel.endSession(this.session_id)
    await this.snapshots.close()
    await this.store.close()
    if (this.last.failure?.code !== 'VT_SESSION_WRITE') await this.manifestWriter.waitForWrites()
  }
}
