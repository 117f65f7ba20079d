import {
  fire,
  notify,
  transcriptFile,
  type EventInput,
  type LifecycleEvent,
  type HookAnswer,
} from '../../lib/hooks/index.js'
import { uuidOf, type CompactTrigger, type Fact, type Msg } from '../base/index.js'
import type { Conversation, ConversationHooks } from '../session/index.js'
import { transcriptLine } from './transcript_line.js'

/** How a thread begins: with nothing, as itself, with what another one was about, or with a part of the work of another one, whose hooks hear of it. */
export type StartReason = 'startup' | 'resume' | 'fork' | 'part'
/** What a session has that a person began. */
const ofSessions: readonly LifecycleEvent[] = ['SessionStart', 'SessionEnd', 'UserPromptSubmit', 'Stop']
const mostStops = 8

/** Fires the lifecycle hooks of the user and adds what they say to the conversation. */
export class LifecycleHooks implements ConversationHooks {
  /** Texts of hooks that wait for an open turn. */
  private readonly notes: string[] = []
  private begun = false
  private stops = 0

  constructor(
    private readonly thread: Conversation,
    private readonly source: StartReason,
  ) {}

  /** Once for each opening of a session, however many tasks it then gets. */
  async begin(signal: AbortSignal): Promise<void> {
    if (this.begun) return
    this.begun = true
    await this.writeTranscript()
    await this.fire('SessionStart', { matched: this.source, extra: { source: this.source }, signal })
  }
  /** Keeps what hooks read of the conversation true; it is written only where there are hooks. */
  async record(fact: Fact): Promise<void> {
    if (this.begun && fact.kind === 'turn_start') await this.transcribe(fact.input)
    if (this.begun && fact.kind === 'message') await this.transcribe(fact.message)
  }
  private async writeTranscript(): Promise<void> {
    if (this.heard) await this.thread.store.cut(transcriptFile, 0).catch(() => {})
    for (const message of this.thread.state.messages) await this.transcribe(message)
  }
  private async transcribe(message: Msg): Promise<void> {
    const { store, kernel, session_id, connection, providers } = this.thread
    // A copy for others: that it cannot be written ends nothing.
    if (!this.heard) return
    const from = {
      uuid: uuidOf(providers.random),
      session_id,
      cwd: kernel.workspace,
      model: connection.model.id,
      at: providers.clock.now(),
    }
    await store.append(transcriptFile, transcriptLine(message, from)).catch(() => {})
  }
  private get heard(): boolean {
    return Object.keys(this.thread.kernel.inspection.hooks).length > 0
  }

  async end(reason: 'completed' | 'cancelled' | 'error'): Promise<void> {
    const { kernel, session_id: session, mode } = this.thread
    if (this.begun && this.source !== 'part')
      await fire(kernel, 'SessionEnd', { session, mode, matched: reason, extra: { reason } })
  }

  /** Why an input is not taken up, if a hook objects. */
  async prompt(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.stops = 0
    return (await this.fire('UserPromptSubmit', { extra: { prompt }, signal })).block
  }
  /** Adds to the open turn what hooks had to say before it. */
  async sayNotes(): Promise<void> {
    for (const note of this.notes.splice(0)) await this.thread.inject(note)
  }

  /** What is left to do in the eyes of a hook; it may send the model on eight times in a row. */
  async stop(last_assistant_message: string, signal: AbortSignal): Promise<string | undefined> {
    const { block } = await this.fire('Stop', {
      extra: { last_assistant_message, stop_hook_active: this.stops > 0 },
      signal,
    })
    if (block === undefined || this.stops >= mostStops) return undefined
    this.stops += 1
    return block
  }

  /** Whether a hook forbids to shorten the conversation. */
  async mayCompact(trigger: CompactTrigger, signal: AbortSignal): Promise<boolean> {
    return (await this.fire('PreCompact', { matched: trigger, extra: { trigger }, signal })).block === undefined
  }
  /** Compaction may have removed what hooks said at the start: they may say it again. */
  async compacted(trigger: CompactTrigger, signal: AbortSignal): Promise<void> {
    await this.fire('PostCompact', { matched: trigger, extra: { trigger }, signal })
    await this.fire('SessionStart', { matched: 'compact', extra: { source: 'compact' }, signal })
    await this.sayNotes()
  }

  /** Notifies that the agent waits for a person. */
  waiting(message: string): void {
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
