import { redact, version } from '../../core/base/index.js'
import type { Kernel } from '../../core/kernel/index.js'
import type { Workspace } from '../../core/workspace/index.js'
import {
  AgentError, Cycles, hintOf, idMaker, settingsOf, verdictOf, type AgentProviders, type AgentSettings, type Fact, type HarnessEvent, type Item,
  type Limits, type Msg, type Outcome, type OutcomeCode, type Store, type Subtype,
} from './base/index.js'
import { LiveContext, Segments } from './context/index.js'
import { Events } from './events/index.js'
import { noBill, Purse } from './ledger/index.js'
import { Approvals, deferredFor, Lifecycle, ModelRequests, runTurn, type LoopConversation, type Source, type TurnEnd } from './loop/index.js'
import type { Line } from './model/index.js'
import { abandon, apply, emptyState, Keeper, lineOf, Queue, textOf, Watch, type Restored, type SessionManifest, type State } from './session/index.js'

export interface ThreadOptions {
  kernel: Kernel
  workspace: Workspace
  providers: AgentProviders
  store: Store
  line: Line
  session_id: string
  thread_id: string
  /** Face the calls come through, for the record. */
  surface: string
  limits?: Limits
  with_tools: boolean
  /** What the session was before. */
  restored?: Restored
  source: Source
  manifest?: SessionManifest
}
/** One conversation: its journal, its events, its inputs. Everything that lasts goes through `commit` and `events`. */
export class Thread implements LoopConversation {
  readonly kernel: Kernel
  readonly workspace: Workspace
  readonly providers: AgentProviders
  readonly session_id: string
  readonly thread_id: string
  readonly surface: string
  readonly settings: AgentSettings
  readonly events: Events
  readonly queue: Queue
  readonly state: State
  readonly cycles = new Cycles()
  readonly approvals: Approvals
  readonly context: LiveContext
  readonly requests = new ModelRequests(this)
  readonly lifecycle: Lifecycle
  readonly purse: Purse
  readonly watch: Watch
  readonly escalation = { refused_change: false }
  readonly newId: ReturnType<typeof idMaker>
  line: Line
  corrections = 0
  private resumed: Restored | undefined
  readonly store: Store
  private written: number
  private tail: Promise<void> = Promise.resolve()
  private readonly keeper: Keeper
  /** Ends the turn that is open, and no more than that. */
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
    this.line = options.line
    this.store = options.store
    this.keeper = new Keeper(this, options.manifest)
    this.context = new LiveContext(this, new Segments(this, options.with_tools))
    this.settings = settingsOf(options.kernel, options.limits)
    this.newId = idMaker(options.providers.clock, options.providers.random)
    this.events = new Events(options.thread_id, options.providers.clock, options.restored?.owed.seq)
    this.lifecycle = new Lifecycle(this, options.source)
    this.approvals = new Approvals(this.events, options.providers, (message) => this.lifecycle.waiting(message), deferredFor(this))
    this.watch = new Watch(options.workspace, options.session_id)
    this.queue = new Queue(options.store, options.providers.clock, options.providers.random)
    this.state = options.restored?.state ?? emptyState()
    this.resumed = options.restored
    this.purse = new Purse(this.state.cost ?? 0)
    this.written = options.restored?.records.length ?? 0
  }

  /** Opens the run: from here on what happens is told. */
  async start(): Promise<void> {
    const { session_id, line, kernel } = this
    this.purse.run = noBill
    this.turns = 0
    this.began = this.providers.clock.now()
    const { parent_thread_id } = this.keeper
    const forked = parent_thread_id === undefined ? {} : { parent_thread_id }
    await this.keeper.open()
    await this.events.emit({ type: 'thread.started', session_id, model: line.model.id, mode: kernel.settings.policy.mode, cwd: kernel.workspace, version, ...forked })
  }

  /**
   * Writes a fact down, then believes it. It survives the death of the process; only what has to be on disk before something else may
   * happen waits for the disk (`durable`), everything else comes with the next wait: that of a turn's end at the latest.
   */
  commit(fact: Fact, durable = false): Promise<void> {
    const turn = fact.kind === 'turn_start' ? this.state.turn + 1 : this.state.turn
    const line = lineOf(fact, ++this.written, turn, new Date(this.providers.clock.now()).toISOString())
    this.context.changed(fact)
    this.tail = this.tail.then(async () => {
      await this.store.append('messages.jsonl', line)
      if (durable) await this.store.sync('messages.jsonl')
      apply(this.state, fact, turn)
    })
    return this.tail
  }

  /** Puts a message of the harness into the conversation. */
  say(text: string): Promise<void> {
    return this.commit({ kind: 'message', message: { role: 'user', parts: [{ type: 'text', text }], origin: 'harness' } })
  }
  /** What a person should know, and what ends nothing. */
  remark(code: string, message: string): Promise<void> {
    return this.events.say({ id: this.newId('it'), type: 'error', message, code })
  }
  harness(event: HarnessEvent, fields: Omit<Item & { type: 'harness' }, 'id' | 'type' | 'event'> = {}): Promise<void> {
    return this.events.say({ id: this.newId('it'), type: 'harness', event, ...fields })
  }

  /** Turn after turn until nothing waits: first `input`, then what was queued, one at a time. */
  async run(input: Msg | undefined, signal: AbortSignal): Promise<TurnEnd> {
    if (this.resumed) await this.harness('resumed', this.resumed.torn ? { message: 'The last line of the journal was not finished; it counts as never written.' } : {})
    this.resumed = undefined
    await this.lifecycle.begin(signal)
    // A new task does not continue what was interrupted.
    if (input && this.state.open) await abandon(this)
    let next: Msg | undefined = input ?? (this.state.open ? undefined : await this.queue.next())
    while (next || this.state.open) {
      const refusal = this.refuseTurn(next) ?? (next && (await this.blocked(next, signal)))
      if (refusal) return (this.last = refusal)
      this.turn = new AbortController()
      this.last = await runTurn(this, next, AbortSignal.any([signal, this.turn.signal]))
      this.turns += 1
      if (this.last.failure?.code === 'VT_SESSION_WRITE') break
      if (next?.intent_id !== undefined) await this.store.sync('messages.jsonl').then(() => this.queue.applied(next!.intent_id!))
      const steered = this.turn.signal.aborted && !signal.aborted
      if (this.last.outcome !== 'success' && !steered) break
      next = await this.queue.next()
      if (!next) break
      // The idle boundary: what the turn leaves is on disk before anything else begins.
      this.keeper.keep('idle')
      await this.store.sync()
    }
    this.turn = undefined
    return this.last
  }

  /** Ends the turn that is open; what is said now comes next, before all that waits. */
  async steer(text: string, id?: string): Promise<string> {
    const queued = await this.queue.add(text, { first: true, ...(id !== undefined && { id }) })
    this.turn?.abort(new Error('The user has something else to say.'))
    return queued
  }

  private refuseTurn(next: Msg | undefined): TurnEnd | undefined {
    const { tools, automation, harness } = this.settings
    const { max_turns } = automation.full_auto
    if (next && tools.max_conversation_turns > 0 && this.state.turn >= tools.max_conversation_turns) {
      return { outcome: 'failed', text: '', failure: new AgentError('VT_LOOP_SESSION_TURNS', `The session has ${this.state.turn} turns; no more are possible.`) }
    }
    const over = harness.max_run_wall_clock_secs > 0 && this.providers.clock.now() - this.began > harness.max_run_wall_clock_secs * 1000
    if (over || (max_turns > 0 && this.turns >= max_turns)) return { ...this.last, outcome: 'turn_limit_reached' }
    return undefined
  }

  /** An input that a hook objects to leaves no trace in the conversation, and is not taken from the queue again. */
  private async blocked(input: Msg, signal: AbortSignal): Promise<TurnEnd | undefined> {
    const reason = await this.lifecycle.prompt(textOf(input), signal)
    if (reason === undefined) return undefined
    if (input.intent_id !== undefined) await this.queue.applied(input.intent_id)
    return { outcome: 'failed', text: '', failure: new AgentError('VT_PROMPT_BLOCKED', `A lifecycle hook objects to the input: ${reason}`) }
  }

  /** The end of the run, told last of all: where that cannot be written down, the run has failed. */
  async finish(): Promise<Outcome> {
    const { outcome } = this.last
    const code = outcome === 'success' && this.escalation.refused_change ? 'escalated' : outcome
    const { text, failure } = this.last
    try {
      if (failure?.code !== 'VT_SESSION_WRITE') this.keeper.keep('idle')
      await this.events.emit({
        type: 'thread.completed',
        outcome_code: code,
        ...this.known(verdictOf(code).subtype),
        num_steps: this.state.steps,
        verified: null,
        ...(text !== '' && { result: text }),
        ...(failure && { stop_reason: failure.code }),
      })
      return this.outcomeOf(code)
    } catch (error) {
      if (!(error instanceof AgentError)) throw error
      this.last = { outcome: 'failed', text: '', failure: error }
      return this.outcomeOf('failed')
    }
  }

  private outcomeOf(code: OutcomeCode): Outcome {
    const { text, failure } = this.last
    const { subtype, exit_code } = verdictOf(code)
    const error = failure && { code: failure.code, message: failure.message, hint: failure.extra.hint ?? hintOf(this.kernel, failure.code) }
    return redact({ outcome_code: code, exit_code, text, ...this.known(subtype), ...(error && { error }) })
  }
  private known(subtype: Subtype): Pick<Outcome, 'session_id' | 'subtype' | 'usage' | 'total_cost_usd' | 'num_turns'> {
    return { session_id: this.session_id, subtype, usage: this.purse.run.usage, total_cost_usd: this.purse.run.cost, num_turns: this.turns }
  }

  /** Waits for what is being written, and lets go of the session. Throws VT_SESSION_WRITE where that could not be written. */
  async close(): Promise<void> {
    await Promise.allSettled([this.tail])
    const { outcome } = this.last
    if (outcome === 'success' && this.turns > 0) this.keeper.keep('completed')
    await Promise.allSettled([this.keeper.settled()])
    await this.lifecycle.end(outcome === 'success' ? 'completed' : outcome === 'cancelled' ? 'cancelled' : 'error')
    await this.kernel.endSession(this.session_id)
    await this.watch.close()
    await this.store.close()
    if (this.last.failure?.code !== 'VT_SESSION_WRITE') await this.keeper.settled()
  }
}
