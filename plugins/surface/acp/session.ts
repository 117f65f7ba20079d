import type {
  ContentBlock,
  PromptResponse,
  SessionConfigOption,
  SessionModeState,
  StopReason,
} from '@agentclientprotocol/sdk'
import type { Io, Kernel, Mode } from '../../../core/index.js'
import { findModel } from '../../agent/cli/index.js'
import type { Outcome, Task, ThreadEvent } from '../../agent/index.js'
import { toOneLine } from '../../lib/terminal/index.js'
import { listAvailableCommands, runSlashCommand, type CommandScene } from './commands.js'
import { invalidParams, requestCancelled, runFailed } from './errors.js'
import { toTask } from './prompt_blocks.js'
import { SessionAgent, type SessionSetup, type TurnControl } from './session_agent.js'
import { describeModes, listModes } from './session_options.js'

/** The outcomes of runs that a limit ended. */
const LIMITS: ReadonlySet<string> = new Set([
  'turn_limit_reached',
  'budget_limit_reached',
  'tool_loop_limit_reached',
  'loop_detected',
])

/** A turn that runs or waits. */
class Turn implements TurnControl {
  readonly #stop = new AbortController()
  readonly signal: AbortSignal

  constructor(request: AbortSignal) {
    this.signal = AbortSignal.any([this.#stop.signal, request])
  }
  stop(): void {
    this.#stop.abort(new Error('The user stopped the turn.'))
  }
}

/** One session of an editor: an agent, and the prompts that wait for it. */
export class EditorSession {
  /** The start of the first prompt of this connection; `undefined` before it. */
  title: string | undefined
  #opened!: SessionAgent
  #announced = ''
  #cost: number | null = 0
  #tail: Promise<unknown> = Promise.resolve()
  #turn: Turn = new Turn(new AbortController().signal)
  readonly #pending = new Set<Turn>()

  private constructor(
    private readonly io: Io,
    private readonly isNew: boolean,
  ) {}

  /** Opens a new or an existing session. Throws AgentError. */
  static async open(setup: SessionSetup): Promise<EditorSession> {
    const session = new EditorSession(setup.io, setup.resume === undefined)
    session.#opened = await SessionAgent.open(setup, () => session.#turn)
    return session
  }

  get id(): string {
    return this.#opened.agent.session_id
  }
  get kernel(): Kernel {
    return this.#opened.kernel
  }
  get modes(): SessionModeState {
    return describeModes(this.kernel, this.#opened.agent)
  }
  get configOptions(): SessionConfigOption[] {
    return this.#opened.configOptions
  }

  /** Sends the commands of the session if they have changed. */
  async announce(): Promise<void> {
    const availableCommands = listAvailableCommands(this.kernel)
    const announced = JSON.stringify(availableCommands)
    if (announced === this.#announced) return
    this.#announced = announced
    await this.#opened.editor.update({ sessionUpdate: 'available_commands_update', availableCommands })
  }

  /** Runs a prompt after the earlier ones. Throws the errors of the protocol. */
  prompt(blocks: readonly ContentBlock[], request: AbortSignal): Promise<PromptResponse> {
    const task = toTask(blocks, this.kernel.workspace)
    const turn = new Turn(request)
    this.#pending.add(turn)
    const answer = this.#tail.then(async () => {
      this.#turn = turn
      const response = await this.#runPrompt(task, turn.signal).finally(() => this.#pending.delete(turn))
      if (request.aborted) throw requestCancelled()
      return response
    })
    this.#tail = answer.catch(() => {})
    return answer
  }

  /** Stops the running prompt and those that wait. */
  cancel(): void {
    for (const turn of this.#pending) turn.stop()
  }

  async #runPrompt(task: Task, signal: AbortSignal): Promise<PromptResponse> {
    if (signal.aborted) return { stopReason: 'cancelled' }
    try {
      await this.#showBeginning(task)
      await this.#opened.prepare()
      await this.announce()
      if (signal.aborted) return { stopReason: 'cancelled' }
      const text = await runSlashCommand(this.#createScene(signal), task.text)
      if (text === undefined) return { stopReason: 'end_turn' }
      return { stopReason: await this.#runTurn({ ...task, text }, signal) }
    } catch (error) {
      if (signal.aborted) return { stopReason: 'cancelled' }
      throw error
    }
  }

  /** Sends the first sign of life, before anything that may take long. */
  async #showBeginning({ text }: Task): Promise<void> {
    const named = this.isNew && this.title === undefined
    this.title ??= toOneLine(text.trim()).slice(0, 80)
    await this.#opened.editor.update({
      sessionUpdate: 'session_info_update',
      ...(named && { title: this.title }),
      updatedAt: new Date().toISOString(),
    })
  }

  async #runTurn(task: Task, signal: AbortSignal): Promise<StopReason> {
    const run = this.#opened.agent.stream(task, { signal })
    for (;;) {
      const { value, done } = await run.next()
      if (done) return this.#finish(value, signal)
      if (value.type === 'item.delta') await this.#opened.writer.handleDelta(value)
      else {
        await this.#opened.writer.handleEvent(value)
        await this.#showUsage(value)
      }
    }
  }

  /** Returns the reason of the protocol for an outcome. Throws the error of a failed run. */
  async #finish({ outcome_code, error, text }: Outcome, signal: AbortSignal): Promise<StopReason> {
    if (signal.aborted || outcome_code === 'cancelled') return 'cancelled'
    if (error?.code === 'VT_LLM_LENGTH') return 'max_tokens'
    if (error?.code === 'VT_LLM_REFUSED') return 'refusal'
    if (LIMITS.has(outcome_code)) return 'max_turn_requests'
    if (outcome_code === 'failed' && error) throw runFailed(error)
    if (error && error.message !== text) await this.#opened.writer.sendMessage(`\n\n${error.message} ${error.hint}`)
    return 'end_turn'
  }

  async #showUsage(event: ThreadEvent): Promise<void> {
    if (event.type !== 'step.completed') return
    const { usage, cost_usd } = event
    this.#cost = this.#cost === null || cost_usd === null ? null : this.#cost + cost_usd
    const size = findModel(this.kernel, this.io.env, this.#opened.agent.model).facts.context_window
    if (event.purpose !== undefined || size === undefined) return
    await this.#opened.editor.update({
      sessionUpdate: 'usage_update',
      used: usage.input_tokens + usage.output_tokens,
      size,
      ...(this.#cost !== null && { cost: { amount: this.#cost, currency: 'USD' } }),
    })
  }

  #createScene(signal: AbortSignal): CommandScene {
    const opened = this.#opened
    return {
      kernel: this.kernel,
      agent: opened.agent,
      io: this.io,
      signal,
      show: (text) => opened.writer.sendMessage(text),
      setMode: (mode) => this.setMode(mode),
      reopen: (between) => opened.reopen(between),
    }
  }

  /** Sets the mode of the calls from now on. Throws invalid params. */
  async setMode(mode: string, field = 'modeId'): Promise<void> {
    const { agent, editor } = this.#opened
    const known = listModes(this.kernel)
    if (!known.includes(mode as Mode)) throw invalidParams(field, `must be one of ${known.join(', ')}.`)
    await agent.setMode(mode as Mode)
    await editor.update({ sessionUpdate: 'current_mode_update', currentModeId: agent.mode })
    await editor.update({ sessionUpdate: 'config_option_update', configOptions: this.configOptions })
  }

  /** Sets an option. A model or an effort counts from the next turn on. Throws invalid params. */
  async setOption(id: string, value: unknown): Promise<SessionConfigOption[]> {
    if (id === 'mode') await this.setMode(String(value), 'value')
    else {
      this.#opened.choose(id, value)
      await this.#opened.editor.update({ sessionUpdate: 'config_option_update', configOptions: this.configOptions })
    }
    return this.configOptions
  }

  /** Stops all prompts and closes the agent. */
  async close(): Promise<void> {
    this.cancel()
    await this.#tail
    await this.#opened.close()
  }
}
