import { MODES } from '../../../core/config/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import {
  formatActiveAgents,
  resolveChoices,
  findModel,
  printFailure,
  resolveRunContext,
  type RunContext,
} from '../../agent/cli/index.js'
import type { Agent, AgentOptions, PrefixReport, ThreadEvent } from '../../agent/index.js'
import type { UiEvent, UiHandle } from '../../tui/index.js'
import { truncateForDisplay } from './call_blocks.js'
import type { Questions } from './questions.js'
import { ChatConversation } from './conversation.js'
import type { Transcript } from './transcript.js'

/** State of a chat on the screen; outlives the agents that serve it. */
export class ChatSession {
  agent!: Agent
  /** Session of the last agent. */
  session_id: string | undefined
  conversation!: ChatConversation
  /** Creates the options of the next agent after this one is closed; `undefined`: no other agent follows. */
  next: (() => Promise<AgentOptions>) | undefined
  /** True if the session has a turn. */
  hasTurns = false
  over = false
  /** Aborts when the chat ends. */
  readonly ended = new AbortController()
  inspectorOpen = false
  /** Event of the person that was requested and not handled yet. */
  pendingEvent: Promise<IteratorResult<UiEvent>> | undefined
  /** Resolves when no task runs. */
  idle: Promise<void> = Promise.resolve()
  /** Called when a task ended. */
  wake: () => void = () => {}
  private running: AbortController | undefined
  private waiting: readonly string[] = []
  private state = 'Working'
  private waitsForPerson = false
  /** Tokens, USD and requests since the session was opened; `context`: tokens of the last request. */
  usage = createUsage()
  /** Context window of the model in tokens; 0: unknown. */
  contextWindow = 0
  private since = 0

  constructor(
    readonly kernel: Kernel,
    readonly io: Io,
    readonly handle: UiHandle,
    readonly questions: Questions,
    readonly transcript: Transcript,
    readonly branch: () => string | undefined,
  ) {
    questions.onWaiting = (waiting) => {
      this.waitsForPerson = waiting
      this.showActivity()
    }
    transcript.onState = (state) => {
      this.state = state
      this.showActivity()
    }
  }

  get busy(): boolean {
    return this.running !== undefined
  }

  begin(agent: Agent, images: ChatConversation['images'], begun: boolean): void {
    this.hasTurns = begun
    this.agent = agent
    this.session_id = agent.session_id
    this.conversation = new ChatConversation(this.kernel, agent, this.io)
    this.conversation.images = images
    this.next = undefined
    this.usage = createUsage()
    this.contextWindow = findModel(this.kernel, this.io.env, agent.model).facts.context_window ?? 0
    this.showStatus()
  }

  /** Options that continue the same session. */
  get resumeOptions(): AgentOptions {
    const { session_id, model } = this.agent
    return this.hasTurns ? { resume: session_id, model } : { model }
  }
  /** Ends this agent and continues with another; `between` runs while the session is closed. */
  continueWith(options: AgentOptions, between?: () => Promise<AgentOptions>): void {
    this.next = between ?? (async () => options)
  }

  /** Updates queue, subagents, and the numbers of the status line. */
  recordEvent(event: ThreadEvent): void {
    if ('item' in event && event.item.type === 'subagent')
      this.handle.send({ type: 'subagents', lines: formatActiveAgents(this.agent) })
    if (event.type === 'item.started' && event.item.type === 'user_message' && event.item.origin === 'queue')
      this.setQueue(this.waiting.filter((_text, at, all) => at !== all.indexOf((event.item as { text: string }).text)))
    if (event.type === 'turn.started') this.hasTurns = true
    if (event.type !== 'step.completed') return
    const { input_tokens, cached_input_tokens, output_tokens } = event.usage
    const { usage } = this
    usage.requests += 1
    if (event.prefix) recordPrefix(usage.prefix, event.prefix)
    usage.input += input_tokens
    usage.cached += cached_input_tokens
    usage.output += output_tokens
    usage.context = input_tokens + output_tokens
    usage.cost = usage.cost === null || event.cost_usd === null ? null : usage.cost + event.cost_usd
    this.showStatus()
    this.showActivity()
  }

  /**
   * Starts a task that Escape ends; messages are queued meanwhile. `what` resolves with `false` if it failed or was
   * stopped.
   */
  start(what: (signal: AbortSignal) => Promise<unknown>): void {
    this.idle = this.runTask(what).then(undefined, (error: unknown) => void printFailure(this.kernel, error, this.io))
  }

  private async runTask(what: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const running = (this.running = new AbortController())
    this.state = 'Working'
    this.since = performance.now()
    this.showActivity()
    let succeeded = false
    try {
      succeeded = (await what(AbortSignal.any([running.signal, this.io.signal]))) !== false
    } finally {
      this.running = undefined
      this.handle.send({ type: 'activity' })
      // Notify a person who left the terminal.
      if (performance.now() - this.since > NOTIFY_AFTER_MS)
        this.handle.send({ type: 'notify', text: 'vtcode waits for you', away: true })
      this.showStatus()
      await this.releaseQueue(succeeded)
      // Let the event loop of the chat check whether to continue.
      this.wake()
    }
  }

  /** Queues a message for the end of the turn; the person can take it back. */
  async enqueue(text: string): Promise<void> {
    // The turn may end before the queue is written.
    this.setQueue([...this.waiting, text])
    try {
      await this.agent.followUp(text)
    } catch (error) {
      this.setQueue(this.waiting.toSpliced(this.waiting.lastIndexOf(text), 1))
      printFailure(this.kernel, error, this.io)
    }
  }

  /** Moves the last queued message back to the editor. */
  async editLastQueued(): Promise<void> {
    const last = this.waiting.at(-1)
    if (last === undefined) return
    const left = this.waiting.slice(0, -1)
    // The running message counts as queued until it is done, and continues unchanged.
    await this.agent.takeBack()
    for (const text of left) await this.agent.followUp(text)
    this.setQueue(left)
    this.handle.send({ type: 'input', text: last })
  }

  /**
   * Sends messages that were queued too late for the turn; returns them to the editor if the turn failed or was
   * stopped.
   */
  private async releaseQueue(succeeded: boolean): Promise<void> {
    const queued = await this.agent.takeBack().catch(() => [])
    this.setQueue([])
    const [first, ...others] = queued
    if (first === undefined) return
    if (!succeeded || this.over || this.next)
      return this.handle.send({ type: 'input', text: [...queued, this.handle.input].filter(Boolean).join('\n') })
    if (this.busy) others.unshift(first)
    else {
      this.handle.send({ type: 'commit', block: { kind: 'user', text: truncateForDisplay(first) } })
      this.start((signal) => this.conversation.runTurn(first, signal))
    }
    for (const text of others) await this.enqueue(text)
  }
  private setQueue(items: readonly string[]): void {
    this.waiting = items
    this.handle.send({ type: 'queue', items })
  }

  /** Switches to the next permitted mode. */
  async cycleMode(): Promise<void> {
    const next = MODES[(MODES.indexOf(this.agent.mode) + 1) % MODES.length]!
    const mode = await this.agent.setMode(next)
    if (mode !== next) await this.agent.setMode('plan')
    this.showStatus()
  }
  stop(): void {
    this.running?.abort()
    this.questions.cancelAll()
  }

  showStatus(): void {
    const { agent, usage, contextWindow } = this
    const context =
      contextWindow > 0 && usage.context > 0 ? [`${Math.round((100 * usage.context) / contextWindow)} % context`] : []
    const branch = this.branch()
    const [first, ...others] = agent.tasks.list()
    const scheduled = first
      ? [`${others.length + 1} scheduled, next ${new Date(first.next).toTimeString().slice(0, 5)}`]
      : []
    const named = branch === undefined ? [] : [branch]
    const left = [
      agent.model,
      agent.mode,
      ...context,
      `${formatCount(usage.input + usage.output)} tokens`,
      ...(usage.cost ? [`$${usage.cost.toFixed(4)}`] : []),
      ...scheduled,
      ...named,
    ].join(' · ')
    this.handle.send({ type: 'status', left, right: '/help' })
  }

  private showActivity(): void {
    if (!this.busy) return
    const { usage } = this
    const tokens = usage.input + usage.output
    const detail = [...(tokens > 0 ? [`${formatCount(tokens)} tokens`] : []), 'Enter queues'].join(' · ')
    this.handle.send({ type: 'activity', state: this.waitsForPerson ? 'Waiting for you' : this.state, detail })
  }
}

const NOTIFY_AFTER_MS = 5000
const createUsage = () => ({
  input: 0,
  cached: 0,
  output: 0,
  requests: 0,
  cost: 0 as number | null,
  context: 0,
  /** Bytes of all requests, those repeated from the request before, and what broke the repetition. */
  prefix: { bytes: 0, common: 0, breaks: new Map<string, { times: number; usd: number }>() },
})

function recordPrefix(prefix: ReturnType<typeof createUsage>['prefix'], one: PrefixReport): void {
  prefix.bytes += one.bytes
  prefix.common += one.common_bytes
  if (one.broken_by === undefined) return
  const { times, usd } = prefix.breaks.get(one.broken_by) ?? { times: 0, usd: 0 }
  prefix.breaks.set(one.broken_by, { times: times + 1, usd: usd + (one.lost_usd ?? 0) })
}

/** Returns whether approvals are asked at this terminal. */
export const isPromptApproval = (kernel: Kernel, context: RunContext | undefined, env: Io['env']): boolean =>
  resolveChoices(kernel, resolveRunContext('interactive', context, env)).approval.name === 'prompt'

const formatCount = (count: number): string =>
  count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(2)}M`
