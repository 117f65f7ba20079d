import type { PlanEntry, SessionUpdate, ToolCallContent, ToolCallStatus } from '@agentclientprotocol/sdk'
import type { Kernel } from '../../../core/index.js'
import type { Agent, Delta, Item, ThreadEvent } from '../../agent/index.js'
import { printable, toOneLine } from '../../lib/terminal/index.js'
import { describeForEditor, toTextContent } from './editor_call.js'

export type SendUpdate = (update: SessionUpdate) => Promise<void>
type ItemOf<T extends Item['type']> = Item & { type: T }

/** The most characters of a running command's output that are shown; the end is kept. */
const MAX_LIVE_OUTPUT = 8_192

/** The state of a call that is shown. */
interface OpenCall {
  content: ToolCallContent[]
  /** The end of the output so far. */
  live: string
  output?: ItemOf<'tool_output'>
  command?: ItemOf<'command_execution'>
  shown: boolean
}

/** Converts events and deltas of a conversation to updates for an editor. */
export class UpdateWriter {
  /** Characters of each text that were sent. */
  readonly #sent = new Map<string, number>()
  readonly #calls = new Map<string, OpenCall>()
  readonly #waiting = new Map<string, () => void>()
  /** Ids of items to the ids of their calls. */
  readonly #callIds = new Map<string, string>()
  #plan = ''
  /** A text that was not streamed; it may only repeat the error of the turn. */
  #unshown: ItemOf<'agent_message'> | undefined

  constructor(
    private readonly kernel: Kernel,
    private readonly send: SendUpdate,
    /** The conversation, for its steps; absent for a replay. */
    private readonly agent?: () => Agent,
  ) {}

  /** Resolves when the editor knows the call, or at once if the call is not one of this conversation. */
  async waitForCall(call_id: string | undefined): Promise<void> {
    if (call_id === undefined || this.#calls.get(call_id)?.shown) return
    await new Promise<void>((resolve) => this.#waiting.set(call_id, resolve))
  }

  async handleDelta({ kind, item_id, at, text }: Delta): Promise<void> {
    if (kind === 'output') return this.#showLiveOutput(item_id, text)
    if (kind === 'arguments') return
    // A gap in a text waits for the whole text.
    if (at !== (this.#sent.get(item_id) ?? 0)) return
    await this.#sendText(kind === 'text' ? 'agent_message_chunk' : 'agent_thought_chunk', item_id, text)
  }

  async handleEvent(event: ThreadEvent): Promise<void> {
    const unshown = this.#unshown
    this.#unshown = undefined
    // The answer to the prompt carries the error.
    if (unshown && !(event.type === 'turn.failed' && event.message === unshown.text)) await this.#completeText(unshown)
    if (event.type === 'item.started') await this.#handleStarted(event.item)
    else if (event.type === 'item.updated') await this.#handleUpdated(event.item)
    else if (event.type === 'item.completed') await this.#handleCompleted(event.item)
    else if (event.type === 'turn.completed' || event.type === 'turn.failed') {
      this.#calls.clear()
      this.#callIds.clear()
      this.#sent.clear()
    }
  }

  /** Sends a text of the program as a message. */
  async sendMessage(text: string): Promise<void> {
    if (text.trim() === '') return
    await this.send({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: printable(text) } })
  }

  async #sendText(
    sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk',
    messageId: string,
    text: string,
  ): Promise<void> {
    // Half of a surrogate pair waits for the other half.
    const whole = /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
    this.#sent.set(messageId, (this.#sent.get(messageId) ?? 0) + whole.length)
    if (whole !== '') await this.send({ sessionUpdate, messageId, content: { type: 'text', text: printable(whole) } })
  }

  async #handleStarted(item: Item): Promise<void> {
    if (item.type === 'tool_invocation') await this.#startCall(item)
    else if (item.type === 'subagent') await this.#showAgent(item, 'tool_call')
  }

  async #handleUpdated(item: Item): Promise<void> {
    if (item.type === 'subagent') await this.#showAgent(item, 'tool_call_update')
  }

  async #handleCompleted(item: Item): Promise<void> {
    switch (item.type) {
      case 'agent_message':
        return this.#sent.has(item.id) ? this.#completeText(item) : void (this.#unshown = item)
      case 'reasoning':
        return this.#completeText(item)
      case 'plan':
        return this.#sendText('agent_message_chunk', item.id, item.text)
      case 'tool_output':
        return void (this.#call(item.call_id).output = item)
      case 'command_execution':
        return void (this.#call(item.call_id).command = item)
      case 'tool_invocation':
        return this.#completeCall(item)
      case 'subagent':
        return this.#showAgent(item, 'tool_call_update')
      case 'error':
        return this.sendMessage(`\n\n${toOneLine(item.message)}\n\n`)
      case 'user_message':
        // Messages of the queue and of schedules come without the editor.
        return item.origin === 'schedule' || (item.origin === 'prompt' && this.agent === undefined)
          ? this.#sendText('user_message_chunk', item.id, item.text)
          : undefined
    }
  }

  async #completeText({ id, type, text, status }: ItemOf<'agent_message'> | ItemOf<'reasoning'>): Promise<void> {
    const kind = type === 'agent_message' ? 'agent_message_chunk' : 'agent_thought_chunk'
    const rest = text.slice(this.#sent.get(id) ?? 0)
    const mark = type === 'agent_message' && status === 'discarded' && text.trim() !== '' ? '\n\n(broken off)\n\n' : ''
    await this.#sendText(kind, id, rest + mark)
  }

  #call(call_id: string): OpenCall {
    const known = this.#calls.get(call_id) ?? { content: [], live: '', shown: false }
    this.#calls.set(call_id, known)
    return known
  }

  async #startCall({ id, call_id, tool_name, arguments: input, effects }: ItemOf<'tool_invocation'>): Promise<void> {
    const prepared = await this.kernel.resolve(tool_name, input)
    const shown = await describeForEditor(this.kernel, {
      slot: prepared?.slot.slot ?? tool_name,
      input: prepared?.input ?? input ?? {},
      effects,
      name: tool_name,
      isPast: this.agent === undefined,
    })
    const call = this.#call(call_id)
    call.content = shown.content
    this.#callIds.set(id, call_id)
    await this.send({ sessionUpdate: 'tool_call', toolCallId: call_id, status: 'in_progress', ...shown })
    call.shown = true
    this.#waiting.get(call_id)?.()
    this.#waiting.delete(call_id)
  }

  async #showLiveOutput(item_id: string, text: string): Promise<void> {
    const toolCallId = this.#callIds.get(item_id)
    if (toolCallId === undefined) return
    const call = this.#call(toolCallId)
    call.live = (call.live + text).slice(-MAX_LIVE_OUTPUT)
    await this.send({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      content: [...call.content, toTextContent(call.live)],
    })
  }

  async #completeCall(item: ItemOf<'tool_invocation'>): Promise<void> {
    const { call_id: toolCallId, outcome } = item
    if (!this.#calls.get(toolCallId)?.shown) await this.#startCall(item)
    const { content, output, command } = this.#call(toolCallId)
    const good = outcome === 'success' && command?.status !== 'failed'
    const text = command ? command.aggregated_output : (output?.output ?? '')
    const isChange = content.some(({ type }) => type === 'diff')
    await this.send({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: good ? 'completed' : 'failed',
      content: [...content, ...(text.trim() === '' || (good && isChange) ? [] : [toTextContent(text)])],
      rawOutput: {
        outcome,
        ...(output?.error_code && { error_code: output.error_code }),
        ...(output?.exit_code !== undefined && { exit_code: output.exit_code }),
      },
    })
    await this.#sendPlan()
  }

  async #showAgent(
    { id, agent_name, status, summary }: ItemOf<'subagent'>,
    sessionUpdate: 'tool_call' | 'tool_call_update',
  ): Promise<void> {
    const words = summary === undefined || summary === '' ? '' : `: ${summary}`
    await this.send({
      sessionUpdate,
      toolCallId: id,
      title: toOneLine(`Agent ${agent_name}${words}`).slice(0, 200),
      kind: 'think',
      status: AGENT_STATUS[status] ?? 'failed',
      content: words === '' ? [] : [toTextContent(summary!)],
    })
  }

  /** Sends the steps of the task if they have changed. */
  async #sendPlan(): Promise<void> {
    const entries = (this.agent?.().tracker?.items ?? []).map(({ description, status }): PlanEntry => ({
      content: toOneLine(status === 'blocked' ? `${description} (blocked)` : description),
      priority: 'medium',
      status: status === 'blocked' ? 'pending' : status,
    }))
    const plan = JSON.stringify(entries)
    if (plan === this.#plan || (entries.length === 0 && this.#plan === '')) return
    this.#plan = plan
    await this.send({ sessionUpdate: 'plan', entries })
  }
}

const AGENT_STATUS: Readonly<Record<string, ToolCallStatus>> = {
  in_progress: 'in_progress',
  completed: 'completed',
}
