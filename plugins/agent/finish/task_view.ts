import { redactText, sha256, VtError } from '../../../core/base/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { messageOf } from '../base/index.js'
import { taskFile } from './task_folder.js'

const largest = 64 * 1024

/**
 * A text of a session as a file that people read and edit. Its first line names the session and the digest of the rest: a file that names
 * no session, or another one, is none of this session, whoever brought it.
 */
export class TaskView {
  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
    private readonly file: string,
  ) {}

  /** What a person made of it; nothing where it is as it was written, or not there. */
  async edit(): Promise<{ path: string; text: string } | { problem: string } | undefined> {
    const path = await taskFile(this.workspace, this.session, this.file, { claim: false })
    if (path === undefined) return undefined
    try {
      const text = await this.workspace.text(path, { max_bytes: largest })
      const body = text.slice(text.indexOf('\n') + 1)
      return text === this.whole(body) ? undefined : { path, text: body }
    } catch (error) {
      return error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND' ? undefined : { problem: `${path} cannot be read: ${messageOf(error)}` }
    }
  }

  /** Writes it where it is not so already. What stands in its place and is no file of ours stays; then this returns what is in the way. */
  async write(body: string): Promise<string | undefined> {
    const path = await taskFile(this.workspace, this.session, this.file, { claim: true })
    if (path === undefined) return `.vtcode/tasks/${this.file}`
    const whole = this.whole(redactText(body))
    // A file on disk costs as much as all else that ends a turn.
    if ((await this.workspace.text(path, { max_bytes: largest }).catch(() => '')) !== whole) await this.workspace.write(path, Buffer.from(whole), 'anything')
    return undefined
  }

  private whole(body: string): string {
    return `<!-- vtcode session=${this.session} sha256=${sha256(body)} -->\n${body}`
  }
}
