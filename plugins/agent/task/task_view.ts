import { VtError } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { EntryStat, Workspace } from '../../../core/workspace/index.js'
import { clock, messageOf } from '../base/index.js'
import { findTaskFile, taskFolder } from './task_folder.js'

const largest = 64 * 1024
const settled_ms = 50

/**
 * A text of a session as a file that people read and edit. Its first line names the session and the digest of the rest: a file that names
 * no session, or another one, is none of this session, whoever brought it.
 */
export class TaskView {
  /** Where the file lay, and as which version, when it was as it was written. */
  private known: { path: string; stat: EntryStat; body: string } | undefined

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
    private readonly file: string,
  ) {}

  /** What a person made of it; nothing where it is as it was written, or not there. */
  async readEdit(): Promise<{ path: string; text: string } | { problem: string } | undefined> {
    if (await this.isKnown()) return undefined
    const path = await findTaskFile(this.workspace, this.session, this.file, { claim: false })
    if (path === undefined) return undefined
    try {
      const stat = await this.workspace.stat(path)
      const text = await this.workspace.text(path, { max_bytes: largest })
      const body = text.slice(text.indexOf('\n') + 1)
      if (text !== this.render(body)) return { path, text: body }
      this.rememberVersion(path, stat, body)
      return undefined
    } catch (error) {
      return error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND'
        ? undefined
        : { problem: `${path} cannot be read: ${messageOf(error)}` }
    }
  }

  /** Writes it where it is not so already. What stands in its place and is no file of ours stays; then this returns what is in the way. */
  async write(body: string): Promise<string | undefined> {
    const kept = redactText(body)
    if (this.known?.body === kept && (await this.isKnown())) return undefined
    // Another session may take the place in between; then it holds it.
    return this.put(kept).catch(() => this.put(kept))
  }
  private async put(body: string): Promise<string | undefined> {
    const { workspace } = this
    const path = await findTaskFile(workspace, this.session, this.file, { claim: true })
    if (path === undefined) return `${taskFolder}/${this.file}`
    const whole = this.render(body)
    const there = await workspace.stat(path)
    // A file on disk costs as much as all else that ends a turn.
    if (there && (await workspace.text(path, { max_bytes: largest }).catch(() => '')) === whole) return undefined
    await workspace.write(path, Buffer.from(whole), there ? 'anything' : 'nothing')
    return undefined
  }

  /** A version that is older than the steps of a file system's clock: whatever is written after this is another one. */
  private rememberVersion(path: string, stat: EntryStat | undefined, body: string): void {
    this.known = stat && clock.now() - stat.mtime_ms > settled_ms ? { path, stat, body } : undefined
  }
  /** Looking at a file costs a tenth of reading it. */
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
