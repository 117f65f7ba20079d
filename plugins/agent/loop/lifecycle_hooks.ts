import {
  fire,
  notify,
  transcriptFile,
  type EventInput,
  type LifecycleEvent,
  type HookAnswer,
} from '../../lib/hooks/index.js'
import { createUuid, type CompactTrigger, type Fact, type Msg } from '../base/index.js'
import type { Conversation, ConversationHooks } from '../session/index.js'
import { formatTranscriptLine } from './transcript_line.js'

/** The start of a thread: new, resumed, forked, or as delegated work, whose parent runs the hooks. */
export type StartReason = 'startup' | 'resume' | 'fork' | 'part'
/** Events of sessions that a person started. */
const ofSessions: readonly LifecycleEvent[] = ['SessionStart', 'SessionEnd', 'UserPromptSubmit', 'Stop']
const mostStops = 8

/** Fires the lifecycle hooks of the user and adds their texts to the conversation. */
export class LifecycleHooks implements ConversationHooks {
  /** Texts of hooks, pending until a turn is open. */
  private readonly notes: string[] = []
  private begun = false
  private stops = 0

  constructor(
    private readonly thread: Conversation,
    private readonly source: StartReason,
  ) {}

  /** Fires SessionStart, once for each opening of a session. */
  async begin(signal: AbortSignal): Promise<void> {
    if (this.begun) return
    this.begun = true
    await this.writeTranscript()
    await this.fire('SessionStart', { matched: this.source, extra: { source: this.source }, signal })
  }
  /** Records the conversation in the transcript for hooks, only if there are hooks. */
  async record(fact: Fact): Promise<void> {
    if (this.begun && fact.kind === 'turn_start') await this.transcribe(fact.input)
    if (this.begun && fact.kind === 'message') await this.transcribe(fact.message)
  }
  private async writeTranscript(): Promise<void> {
    if (this.hasHooks) await this.thread.store.cut(transcriptFile, 0).catch(() => {})
    for (const message of this.thread.state.messages) await this.transcribe(message)
  }
  private async transcribe(message: Msg): Promise<void> {
    const { store, kernel, session_id, connection, providers } = this.thread
    // The transcript is a copy: a failed write ends nothing.
    if (!this.hasHooks) return
    const from = {
      uuid: createUuid(providers.random),
      session_id,
      cwd: kernel.workspace,
      model: connection.model.id,
      at: providers.clock.now(),
    }
    await store.append(transcriptFile, formatTranscriptLine(message, from)).catch(() => {})
  }
  private get hasHooks(): boolean {
    return Object.keys(this.thread.kernel.inspection.hooks).length > 0
  }

  async end(reason: 'completed' | 'cancelled' | 'error'): Promise<void> {
    const { kernel, session_id: session, mode } = this.thread
    if (this.begun && this.source !== 'part')
      await fire(kernel, 'SessionEnd', { session, mode, matched: reason, extra: { reason } })
  }

  /** Returns the reason of a hook that refuses an input. */
  async checkPrompt(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.stops = 0
    return (await this.fire('UserPromptSubmit', { extra: { prompt }, signal })).block
  }
  /** Adds pending texts of hooks to the open turn. */
  async addNotes(): Promise<void> {
    for (const note of this.notes.splice(0)) await this.thread.inject(note)
  }

  /** Returns the remaining work according to a hook; at most eight times in a row. */
  async checkStop(last_assistant_message: string, signal: AbortSignal): Promise<string | undefined> {
    const { block } = await this.fire('Stop', {
      extra: { last_assistant_message, stop_hook_active: this.stops > 0 },
      signal,
    })
    if (block === undefined || this.stops >= mostStops) return undefined
    this.stops += 1
    return block
  }

  /** Returns whether no hook forbids to compact the conversation. */
  async canCompact(trigger: CompactTrigger, signal: AbortSignal): Promise<boolean> {
    return (await this.fire('PreCompact', { matched: trigger, extra: { trigger }, signal })).block === undefined
  }
  /** Fires PostCompact and SessionStart: compaction may have removed the hooks' texts. */
  async handleCompaction(trigger: CompactTrigger, signal: AbortSignal): Promise<void> {
    await this.fire('PostCompact', { matched: trigger, extra: { trigger }, signal })
    await this.fire('SessionStart', { matched: 'compact', extra: { source: 'compact' }, signal })
    await this.addNotes()
  }

  /** Notifies that the agent waits for a person. */
  notifyWaiting(message: string): void {
    notify(this.thread.kernel, this.thread.session_id, 'permission_prompt', message)
  }

  private async fire(event: LifecycleEvent, circumstances: Omit<EventInput, 'session'>): Promise<HookAnswer> {
    const { kernel, session_id, mode } = this.thread
    if (this.source === 'part' && ofSessions.includes(event)) return { context: [], notices: [] }
    const outcome = await fire(kernel, event, { session: session_id, mode, ...circumstances })
    this.notes.push(...outcome.context)
    for (const { code, message } of outcome.notices) await this.thread.remark(code, message)
    return outcome
  }
}
