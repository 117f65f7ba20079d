import type { OutcomeCode } from '../base/index.js'
import type { Conversation } from './conversation.js'
import { createManifest, type SessionManifest } from './manifest.js'
import { saveMemory } from './memory.js'

/**
 * Manifest and memory of a session, for others to read. What they say is in the journal too, so they are written behind the run, as they
 * are last, and whoever closes the session waits for them.
 */
export class ManifestWriter {
  private status: SessionManifest['status'] = 'idle'
  /** How the last run ended. */
  private outcome: OutcomeCode | undefined
  /** A write is queued that has not begun: it will include later changes. */
  private stale = false
  private saving: Promise<void> = Promise.resolve()

  constructor(
    private readonly thread: Conversation,
    private manifest: SessionManifest | undefined,
  ) {}

  /** The thread that it was forked from. */
  get parent_thread_id(): string | undefined {
    return this.manifest?.parent_thread_id
  }

  /** The session is listed from the first time on. Returns when that is so. */
  async open(): Promise<void> {
    const listed = this.manifest !== undefined
    this.save('active')
    if (!listed) await this.saving
  }

  /** A run is over. */
  recordOutcome(outcome: OutcomeCode): void {
    this.outcome = outcome
    this.save('idle')
  }

  /** Nobody holds the session any more. */
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

  /** Returns when all of it is written. Throws VT_SESSION_WRITE where that could not be. */
  waitForWrites(): Promise<void> {
    return this.saving
  }
}
