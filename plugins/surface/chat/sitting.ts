import { modes } from '../../../core/config/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import {
  atWork,
  componentChoices,
  findModel,
  printFailure,
  runContextOf,
  type RunContext,
} from '../../agent/cli/index.js'
import type { Agent, AgentOptions, ThreadEvent } from '../../agent/index.js'
import type { UiEvent, UiHandle } from '../../tui/index.js'
import { readablePart } from './changes.js'
import type { Questions } from './questions.js'
import { Talk } from './talk.js'
import type { Transcript } from './transcript.js'

/** A conversation at the screen, from one agent to the next. */
export class Sitting {
  agent!: Agent
  /** Of the agent that was there last. */
  session_id: string | undefined
  talk!: Talk
  /** What makes the options of the agent to go on with, when this one is closed; nothing: not at all. */
  next: (() => Promise<AgentOptions>) | undefined
  /** Whether the session has a turn. */
  begun = false
  over = false
  /** Aborts when the chat ends. */
  readonly ended = new AbortController()
  /** The inspector is open. */
  inspected = false
  /** What the person does next, where somebody waits for it already. */
  unread: Promise<IteratorResult<UiEvent>> | undefined
  /** Resolves when nothing is under way. */
  idle: Promise<void> = Promise.resolve()
  /** Called when something ended. */
  wake: () => void = () => {}
  private running: AbortController | undefined
  private waiting: readonly string[] = []
  private state = 'Working'
  /** Since the session is gone on with: tokens, USD and requests; `context` are the tokens of the last request. */
  usage = noUse()
  /** Tokens that the model takes; 0: it is not known. */
  window = 0
  private since = 0

  constructor(
    readonly kernel: Kernel,
    readonly io: Io,
    readonly handle: UiHandle,
    readonly questions: Questions,
    readonly transcript: Transcript,
    readonly branch: () => string | undefined,
  ) {
    transcript.onState = (state) => {
      this.state = state
      this.activity()
    }
  }

  get busy(): boolean {
    return this.running !== undefined
  }

  begin(agent: Agent, images: Talk['images'], begun: boolean): void {
    this.begun = begun
    this.agent = agent
    this.session_id = agent.session_id
    this.talk = new Talk(this.kernel, agent, this.io)
    this.talk.images = images
    this.next = undefined
    this.usage = noUse()
    this.window = findModel(this.kernel, this.io.env, agent.model).facts.context_window ?? 0
    this.status()
  }

  /** The options with which the same session goes on. */
  get here(): AgentOptions {
    const { session_id, model } = this.agent
    return this.begun ? { resume: session_id, model } : { model }
  }
  /** Ends this agent and goes on with another; `between` is done when nobody holds the session. */
  goOn(options: AgentOptions, between?: () => Promise<AgentOptions>): void {
    this.next = between ?? (async () => options)
  }

  /** What waits, who works, and the numbers of the status line. */
  count(event: ThreadEvent): void {
    if ('item' in event && event.item.type === 'subagent')
      this.handle.send({ type: 'subagents', lines: atWork(this.agent) })
    if (event.type === 'item.started' && event.item.type === 'user_message' && event.item.origin === 'queue')
      this.waits(this.waiting.filter((text, at, all) => at !== all.indexOf((event.item as { text: string }).text)))
    if (event.type === 'turn.started') this.begun = true
    if (event.type !== 'step.completed') return
    const { input_tokens, cached_input_tokens, output_tokens } = event.usage
    const { usage } = this
    usage.requests += 1
    usage.input += input_tokens
    usage.cached += cached_input_tokens
    usage.output += output_tokens
    usage.context = input_tokens + output_tokens
    usage.cost = usage.cost === null || event.cost_usd === null ? null : usage.cost + event.cost_usd
    this.status()
    this.activity()
  }

  /** Something that the person asked for, and that Escape ends. What is said meanwhile waits. `false` means that it failed or was stopped. */
  start(what: (signal: AbortSignal) => Promise<unknown>): void {
    this.idle = this.during(what).then(undefined, (error: unknown) => void printFailure(this.kernel, error, this.io))
  }

  private async during(what: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const running = (this.running = new AbortController())
    this.state = 'Working'
    this.since = performance.now()
    this.activity()
    let succeeded = false
    try {
      succeeded = (await what(AbortSignal.any([running.signal, this.io.signal]))) !== false
    } finally {
      this.running = undefined
      this.handle.send({ type: 'activity' })
      // Who went away meanwhile is told.
      if (performance.now() - this.since > long_ms)
        this.handle.send({ type: 'notify', text: 'vtcode waits for you', away: true })
      this.status()
      await this.releaseQueue(succeeded)
      // The loop looks whether to go on.
      this.wake()
    }
  }

  /** What waits for the end of the turn; the person may take it back. */
  async queue(text: string): Promise<void> {
    // The turn may end before the queue is written.
    this.waits([...this.waiting, text])
    try {
      await this.agent.followUp(text)
    } catch (error) {
      this.waits(this.waiting.toSpliced(this.waiting.lastIndexOf(text), 1))
      printFailure(this.kernel, error, this.io)
    }
  }

  /** The last thing that waits is in the editor again. */
  async editQueue(): Promise<void> {
    const last = this.waiting.at(-1)
    if (last === undefined) return
    const left = this.waiting.slice(0, -1)
    // What is under way counts as waiting until it is done; it goes on as it is.
    await this.agent.takeBack()
    for (const text of left) await this.agent.followUp(text)
    this.waits(left)
    this.handle.send({ type: 'input', text: last })
  }

  /** Sends the messages that were queued too late for the turn; returns them to the editor when the turn failed or was stopped. */
  private async releaseQueue(succeeded: boolean): Promise<void> {
    const queued = await this.agent.takeBack().catch(() => [])
    this.waits([])
    const [first, ...others] = queued
    if (first === undefined) return
    if (!succeeded || this.over || this.next)
      return this.handle.send({ type: 'input', text: [...queued, this.handle.input].filter(Boolean).join('\n') })
    if (this.busy) others.unshift(first)
    else {
      this.handle.send({ type: 'commit', block: { kind: 'user', text: readablePart(first) } })
      this.start((signal) => this.talk.run(first, signal))
    }
    for (const text of others) await this.queue(text)
  }
  private waits(items: readonly string[]): void {
    this.waiting = items
    this.handle.send({ type: 'queue', items })
  }

  /** The next mode that is permitted. */
  async cycleMode(): Promise<void> {
    const next = modes[(modes.indexOf(this.agent.mode) + 1) % modes.length]!
    const mode = await this.agent.setMode(next)
    if (mode !== next) await this.agent.setMode('plan')
    this.status()
  }
  stop(): void {
    this.running?.abort()
    this.questions.drop()
  }

  status(): void {
    const { agent, usage, window } = this
    const context = window > 0 && usage.context > 0 ? [`${Math.round((100 * usage.context) / window)} % context`] : []
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
      `${short(usage.input + usage.output)} tokens`,
      ...(usage.cost ? [`$${usage.cost.toFixed(4)}`] : []),
      ...scheduled,
      ...named,
    ].join(' · ')
    this.handle.send({ type: 'status', left, right: '/help' })
  }

  private activity(): void {
    if (!this.busy) return
    const { usage } = this
    const tokens = usage.input + usage.output
    const detail = [...(tokens > 0 ? [`${short(tokens)} tokens`] : []), 'Enter waits'].join(' · ')
    this.handle.send({ type: 'activity', state: this.state, detail })
  }
}

const long_ms = 5000
const noUse = () => ({ input: 0, cached: 0, output: 0, requests: 0, cost: 0 as number | null, context: 0 })

/** Whether questions about calls go to the person at the terminal. */
export const asksHere = (kernel: Kernel, context: RunContext | undefined, env: Io['env']): boolean =>
  componentChoices(kernel, runContextOf('interactive', context, env)).approval.name === 'prompt'

const short = (count: number): string =>
  count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(2)}M`
