import { VtError } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { EntryStat, Workspace } from '../../../core/workspace/index.js'
import { clock, toErrorMessage } from '../base/index.js'
import { findTaskFile, taskFolder } from './task_folder.js'

const largest = 64 * 1024
const settled_ms = 50

/**
 * A text of a session as a file that people read and edit. Its first line names the session and the digest of the rest.
 * A file without this line, or of another session, is ignored.
 */
export class TaskView {
  /** The path and version of the file when its content was last known to be ours. */
  private known: { path: string; stat: EntryStat; body: string } | undefined

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
    private readonly file: string,
  ) {}

  /** Returns the edits of a person; `undefined` if the file is unchanged or missing. */
  async readEdit(): Promise<{ path: string; text: string } | { problem: string } | undefined> {
    if (await this.isKnown()) return undefined
    const path = await findTaskFile(this.workspace, this.session, this.file, { claim: false })
    if (path === undefined) return undefined
    try {
      const stat = await this.workspace.stat(path)
      const text = await this.workspace.readText(path, { max_bytes: largest })
      const body = text.slice(text.indexOf('\n') + 1)
      if (text !== this.render(body)) return { path, text: body }
      this.rememberVersion(path, stat, body)
      return undefined
    } catch (error) {
      return error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND'
        ? undefined
        : { problem: `${path} cannot be read: ${toErrorMessage(error)}` }
    }
  }

  /** Writes the text if it changed. A foreign entry at the path stays; then this returns its path. */
  async write(body: string): Promise<string | undefined> {
    const kept = redactText(body)
    if (this.known?.body === kept && (await this.isKnown())) return undefined
    // Another session may claim the path first and then keeps it.
    return this.put(kept).catch(() => this.put(kept))
  }
  private async put(body: string): Promise<string | undefined> {
    const { workspace } = this
    const path = await findTaskFile(workspace, this.session, this.file, { claim: true })
    if (path === undefined) return `${taskFolder}/${this.file}`
    const whole = this.render(body)
    const existing = await workspace.stat(path)
    // A file on disk costs as much as the rest of the end of a turn.
    if (existing && (await workspace.readText(path, { max_bytes: largest }).catch(() => '')) === whole) return undefined
    await workspace.write(path, Buffer.from(whole), existing ? 'anything' : 'nothing')
    return undefined
  }

  /**
   * Remembers a version once it is older than the clock step of a file system, so that a later write differs from it.
   */
  private rememberVersion(path: string, stat: EntryStat | undefined, body: string): void {
    this.known = stat && clock.now() - stat.mtime_ms > settled_ms ? { path, stat, body } : undefined
  }
  /** A `stat` costs a tenth of a read. */
  private async isKnown(): Promise<boolean> {
    if (!this.known) return false
    const { path, stat } = this.known
    const now = await this.workspace.stat(path).catch(() => undefined)
    return (
      now !== undefined &&
      now.kind === 'file' &&
      now.ino === stat.ino &&
      now.dev === stat.dev &&
      now.mtime_ns === stat.mtime_ns &&
      now.bytes === stat.bytes
    )
  }

  private render(body: string): string {
    return `<!-- vtcode session=${this.session} sha256=${sha256(body)} -->\n${body}`
  }
}
