import { fire, notify, type Circumstances, type Occasion, type Told } from '../../lib/hooks/index.js'
import type { CompactTrigger } from '../base/index.js'
import type { Conversation, ConversationHooks } from '../session/index.js'

/** How a thread begins: with nothing, as itself, or with what another one was about. */
export type Source = 'startup' | 'resume' | 'fork'
const mostStops = 8

/** Tells the hooks of the user what the agent is about, and brings the conversation what they say. */
export class Lifecycle implements ConversationHooks {
  /** What waits for a turn that can take it up. */
  private readonly notes: string[] = []
  private begun = false
  private stops = 0

  constructor(
    private readonly thread: Conversation,
    private readonly source: Source,
  ) {}

  /** Once for each opening of a session, however many tasks it then gets. */
  async begin(signal: AbortSignal): Promise<void> {
    if (this.begun) return
    this.begun = true
    await this.tell('SessionStart', { matched: this.source, extra: { source: this.source }, signal })
  }
  async end(reason: 'completed' | 'cancelled' | 'error'): Promise<void> {
    const { kernel, session_id: session } = this.thread
    if (this.begun) await fire(kernel, 'SessionEnd', { session, matched: reason, extra: { reason } })
  }

  /** Why an input is not taken up, if a hook objects. */
  async prompt(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.stops = 0
    return (await this.tell('UserPromptSubmit', { extra: { prompt }, signal })).block
  }
  /** Says in the turn that is open now what hooks had to say before. */
  async sayNotes(): Promise<void> {
    for (const note of this.notes.splice(0)) await this.thread.say(note)
  }

  /** What is left to do in the eyes of a hook; it may send the model on eight times in a row. */
  async stop(last_assistant_message: string, signal: AbortSignal): Promise<string | undefined> {
    const { block } = await this.tell('Stop', { extra: { last_assistant_message, stop_hook_active: this.stops > 0 }, signal })
    if (block === undefined || this.stops >= mostStops) return undefined
    this.stops += 1
    return block
  }

  /** Whether a hook forbids to shorten the conversation. */
  async mayCompact(trigger: CompactTrigger, signal: AbortSignal): Promise<boolean> {
    return (await this.tell('PreCompact', { matched: trigger, extra: { trigger }, signal })).block === undefined
  }
  /** What was said at the start may be gone from the conversation: hooks may say it again. */
  async compacted(trigger: CompactTrigger, signal: AbortSignal): Promise<void> {
    await this.tell('PostCompact', { matched: trigger, extra: { trigger }, signal })
    await this.tell('SessionStart', { matched: 'compact', extra: { source: 'compact' }, signal })
    await this.sayNotes()
  }

  /** Somebody is waited for. */
  waiting(message: string): void {
    notify(this.thread.kernel, this.thread.session_id, 'permission_prompt', message)
  }

  private async tell(event: Occasion, circumstances: Omit<Circumstances, 'session'>): Promise<Told> {
    const { kernel, session_id } = this.thread
    const told = await fire(kernel, event, { session: session_id, ...circumstances })
    this.notes.push(...told.context)
    for (const { code, message } of told.remarks) await this.thread.remark(code, message)
    return told
  }
}
