import type { CreateElicitationRequest, McpServer, SessionConfigOption, SessionUpdate } from '@agentclientprotocol/sdk'
import { omitUndefined } from '../../../core/shapes/index.js'
import type { Asker, Io, Kernel } from '../../../core/index.js'
import { resolveChoices, resolveRunContext } from '../../agent/cli/index.js'
import { createAgent, type Agent, type AgentOptions } from '../../agent/index.js'
import { parseAnswers, toElicitationForm } from '../../lib/terminal/index.js'
import { createExecution, type ReadBuffer } from './buffers.js'
import { agreeToServers } from './client_servers.js'
import { invalidParams } from './errors.js'
import { Permissions, type AskPermission } from './permissions.js'
import { describeOptions, EFFORTS, listModelIds, type Effort } from './session_options.js'
import { UpdateWriter } from './updates.js'

/** The requests to the editor. Each ends when the signal aborts, whether the editor answers or not. */
export interface ConnectedEditor {
  update(update: SessionUpdate): Promise<void>
  requestPermission(request: Parameters<AskPermission>[0], signal: AbortSignal): Promise<unknown>
  /** Absent if the editor has no forms. */
  elicit?: (form: Pick<CreateElicitationRequest, 'message'> & object, signal: AbortSignal) => Promise<unknown>
  /** Absent if the editor gives no buffers. */
  readBuffer?: ReadBuffer
}

/** The kernel of a session, and how to release it. */
export interface SessionKernel {
  kernel: Kernel
  release(): Promise<void>
}

export interface SessionSetup {
  io: Io
  kernel: SessionKernel
  servers: readonly McpServer[]
  client: (session_id: string) => ConnectedEditor
  resume?: string
}

/** The present turn, for the questions of its calls. */
export interface TurnControl {
  readonly signal: AbortSignal
  stop(): void
}

/** Time after which a start that has not ended is shown, in milliseconds. */
const SHOWN_START_MS = 150

/** The agent of a session. Another model, effort or kernel replaces it; the conversation stays. */
export class SessionAgent {
  agent!: Agent
  editor!: ConnectedEditor
  writer!: UpdateWriter
  readonly #io: Io
  readonly #permissions: Permissions
  #kernel: SessionKernel
  #servers: readonly McpServer[]
  #model: string | undefined
  #effort: Effort | undefined
  /** The model or the effort has changed since the agent was opened. */
  #stale = false
  #started = false
  /** The id of the call of this conversation that waits for an approval; a call of another agent has none. */
  #asked: string | undefined

  private constructor(
    { io, kernel, servers }: SessionSetup,
    private readonly turn: () => TurnControl,
  ) {
    this.#io = io
    this.#kernel = kernel
    this.#servers = servers
    this.#permissions = new Permissions(
      () => this.kernel,
      (request) => this.#requestPermission(request),
      () => this.#findAskedCall(),
      () => turn().stop(),
    )
  }

  /** Opens the agent of a new or an existing session. Throws AgentError. */
  static async open(setup: SessionSetup, turn: () => TurnControl): Promise<SessionAgent> {
    const opened = new SessionAgent(setup, turn)
    await opened.#openAgent(omitUndefined({ resume: setup.resume }))
    opened.editor = setup.client(opened.agent.session_id)
    return opened
  }

  get kernel(): Kernel {
    return this.#kernel.kernel
  }

  get configOptions(): SessionConfigOption[] {
    const { env } = this.#io
    return describeOptions(this.kernel, { agent: this.agent, model: this.#model, effort: this.#effort, env })
  }

  /** Sets the model or the effort from the next turn on. Throws invalid params. */
  choose(id: string, value: unknown): void {
    if (id === 'model') {
      const known = listModelIds(this.kernel, this.#io.env, this.agent.model)
      if (!known.includes(value as string)) throw invalidParams('value', `must be one of ${known.join(', ')}.`)
      this.#model = value as string
    } else if (id === 'thought_level') {
      if (value !== 'default' && !EFFORTS.includes(value as Effort))
        throw invalidParams('value', `must be one of default, ${EFFORTS.join(', ')}.`)
      this.#effort = value === 'default' ? undefined : (value as Effort)
    } else throw invalidParams('configId', 'must be mode, model or thought_level.')
    this.#stale = true
  }

  /** Prepares a turn: starts the servers of the session, once, and opens the agent with what was chosen. */
  async prepare(): Promise<void> {
    if (!this.#started) {
      this.#started = true
      if (this.#servers.length > 0) await this.#addServers()
      await this.#startServers()
    }
    if (this.#stale) await this.reopen()
  }

  /** Opens the agent again, with the model, the effort and the kernel that are set now. */
  async reopen(between: () => Promise<void> = async () => {}): Promise<void> {
    const { session_id, mode } = this.agent
    // A session without a turn has no journal; the mode is its first fact.
    await this.agent.setMode(mode)
    await this.agent.close()
    this.#stale = false
    try {
      await between()
    } finally {
      await this.#openAgent({ resume: session_id })
    }
  }

  async close(): Promise<void> {
    try {
      await this.agent.close()
    } finally {
      await this.#kernel.release()
    }
  }

  async #openAgent(options: AgentOptions): Promise<void> {
    const { env } = this.#io
    const { kernel } = this
    const context = resolveRunContext('interactive', undefined, env)
    this.writer = new UpdateWriter(
      kernel,
      (update) => this.editor.update(update),
      () => this.agent,
    )
    const isAsked = resolveChoices(kernel, context).approval.name === 'prompt'
    this.agent = await createAgent(kernel, {
      env,
      context,
      surface: 'acp',
      quiet: true,
      ...omitUndefined({ model: this.#model, reasoning_effort: this.#effort }),
      ...options,
      providers: {
        notify: 'none',
        execute: createExecution(kernel, () => this.editor.readBuffer),
        ...(isAsked && { approval: { approve: this.#permissions.approve, ask: this.#ask } }),
      },
      onEvent: (event) => {
        if (event.type === 'permission.requested') this.#asked = event.call_id
        else if (event.type === 'permission.resolved') this.#asked = undefined
      },
    })
  }

  /** Returns the id of the call that waits for an approval, once the editor knows the call. */
  async #findAskedCall(): Promise<string | undefined> {
    const id = this.#asked
    await this.writer.waitForCall(id)
    return id
  }

  #requestPermission(request: Parameters<AskPermission>[0]): Promise<unknown> {
    return this.editor.requestPermission(request, this.turn().signal)
  }

  readonly #ask: Asker = async (questions, signal) => {
    if (!this.editor.elicit) throw new Error('The editor cannot show questions of tools.')
    return parseAnswers(questions, await this.editor.elicit(toElicitationForm(questions), signal))
  }

  /** Runs the deferred starts. One that takes long is shown as a call. */
  async #startServers(): Promise<void> {
    const call = { toolCallId: `start-${this.agent.session_id}`, title: 'Start MCP servers' }
    let shown: Promise<void> | undefined
    const timer = setTimeout(() => {
      shown = this.editor.update({ sessionUpdate: 'tool_call', ...call, kind: 'other', status: 'in_progress' })
      shown.catch(() => {})
    }, SHOWN_START_MS)
    await this.kernel.inspection.loadDeferred().finally(() => clearTimeout(timer))
    await shown
    if (shown) await this.editor.update({ sessionUpdate: 'tool_call_update', ...call, status: 'completed' })
  }

  /** Continues on a kernel with the servers of the editor that the person agreed to. */
  async #addServers(): Promise<void> {
    const config = await agreeToServers(this.#servers, (request) => this.#requestPermission(request))
    this.#servers = []
    const kernel = await this.kernel.inspection.openSibling(this.kernel.workspace, { config })
    const old = this.#kernel
    this.#kernel = { kernel, release: () => kernel.close() }
    await this.reopen()
    await old.release()
  }
}
