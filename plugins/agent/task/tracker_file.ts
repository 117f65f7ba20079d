import type { Workspace } from '../../../core/workspace/index.js'
import { messageOf, type Tracker } from '../base/index.js'
import { TaskView } from './task_view.js'
import { MalformedLine, parseTracker, formatTracker } from './tracker_text.js'

/** What people did to the file of a tracker since it was written. */
export type Edit = { tracker: Tracker } | { problem: string } | undefined

/** The tracker as a file that people read and edit. */
export class TrackerFile {
  private readonly view: TaskView

  constructor(workspace: Workspace, session: string) {
    this.view = new TaskView(workspace, session, 'current_task.md')
  }

  /** What a person made of it; nothing where it is as it was written, or not there. */
  async readEdit(): Promise<Edit> {
    const edit = await this.view.readEdit()
    if (!edit || 'problem' in edit) return edit
    try {
      return { tracker: parseTracker(edit.text) }
    } catch (error) {
      // The line above is ours.
      const said =
        error instanceof MalformedLine
          ? new MalformedLine(error.line + 1, error.message.replace(/^Line \d+: /, ''))
          : error
      return { problem: `${edit.path} is not used: ${messageOf(said)}` }
    }
  }

  /** Writes it; returns what is in the way. */
  write(tracker: Tracker): Promise<string | undefined> {
    return this.view.write(formatTracker(tracker))
  }
}
