import type { OutcomeCode } from '../base/index.js'
import type { Conversation } from './conversation.js'
import { createManifest, type SessionManifest } from './manifest.js'
import { saveMemory } from './memory.js'

/**
 * Writes the manifest and memory of a session for other programs. The journal has the same facts, so the writes run in
 * the background: the latest state wins, and closing the session waits for it.
 */
export class ManifestWriter {
  private status: SessionManifest['status'] = 'idle'
  /** The outcome of the last run. */
  private outcome: OutcomeCode | undefined
  /** A queued write has not begun: it will include later changes. */
  private stale = false
  private saving: Promise<void> = Promise.resolve()

  constructor(
    private readonly thread: Conversation,
    private manifest: SessionManifest | undefined,
  ) {}

  /** The thread of the parent session. */
  get parent_thread_id(): string | undefined {
    return this.manifest?.parent_thread_id
  }

  /** Lists the session, and returns once its first manifest is on disk. */
  async open(): Promise<void> {
    const listed = this.manifest !== undefined
    this.save('active')
    if (!listed) await this.saving
  }

  /** Records the outcome of a run. */
  recordOutcome(outcome: OutcomeCode): void {
    this.outcome = outcome
    this.save('idle')
  }

  /** Marks the session as completed after its last run succeeded; called when it is unlocked. */
  complete(): void {
    if (this.outcome === 'success') this.save('completed')
  }

  save(status: SessionManifest['status']): void {
    this.status = status
    if (this.stale) return
    this.stale = true
    this.saving = this.saving.then(() => this.write())
    this.saving.catch(() => {})
  }

  private async write(): Promise<void> {
    const { thread, status } = this
    this.stale = false
    this.manifest = createManifest(thread, { status, outcome: this.outcome ?? this.manifest?.outcome }, this.manifest)
    await Promise.all([
      thread.store.write('manifest.json', JSON.stringify(this.manifest)),
      status !== 'active' && saveMemory(thread),
    ])
  }

  /** Resolves when all is written. Throws VT_SESSION_WRITE if a write failed. */
  waitForWrites(): Promise<void> {
    return this.saving
  }
}
