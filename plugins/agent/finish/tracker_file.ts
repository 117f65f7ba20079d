import { redactText, sha256, VtError } from '../../../core/base/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { messageOf, type Tracker } from '../base/index.js'
import { taskFile } from './task_folder.js'
import { MalformedLine, parseTracker, trackerText } from './tracker_text.js'

const file = 'current_task.md'
const largest = 64 * 1024

/** What people did to the file of a tracker since it was written. */
export type Edit = { tracker: Tracker } | { problem: string } | undefined

/**
 * The tracker as a file that people read and edit. Its first line names the session and the digest of the rest: a file that names no
 * session, or another one, is none of this session, whoever brought it.
 */
export class TrackerFile {
  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
  ) {}

  /** What a person made of it; nothing where it is as it was written, or not there. */
  async edit(): Promise<Edit> {
    const path = await taskFile(this.workspace, this.session, file, { claim: false })
    if (path === undefined) return undefined
    let text: string
    try {
      text = await this.workspace.text(path, { max_bytes: largest })
    } catch (error) {
      return error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND' ? undefined : { problem: `${path} cannot be read: ${messageOf(error)}` }
    }
    const body = text.slice(text.indexOf('\n') + 1)
    if (text === this.whole(body)) return undefined
    try {
      return { tracker: parseTracker(body) }
    } catch (error) {
      const said = error instanceof MalformedLine ? new MalformedLine(error.line + 1, error.message.replace(/^Line \d+: /, '')) : error
      return { problem: `${path} is not used: ${messageOf(said)}` }
    }
  }

  /** Writes it where it is not so already. What stands in its place and is no file of ours stays; then this returns what is in the way. */
  async write(tracker: Tracker): Promise<string | undefined> {
    const path = await taskFile(this.workspace, this.session, file, { claim: true })
    if (path === undefined) return `.vtcode/tasks/${file}`
    await this.workspace.write(path, Buffer.from(this.whole(redactText(trackerText(tracker)))), 'anything')
    return undefined
  }

  private whole(body: string): string {
    return `<!-- vtcode session=${this.session} sha256=${sha256(body)} -->\n${body}`
  }
}
