import type { Workspace } from '../../../core/workspace/index.js'
import { toErrorMessage, type Tracker } from '../base/index.js'
import { TaskView } from './task_view.js'
import { MalformedLine, parseTracker, formatTracker } from './tracker_text.js'

/** The edits of a person to the file of a tracker. */
export type Edit = { tracker: Tracker } | { problem: string } | undefined

/** The tracker as a file that people read and edit. */
export class TrackerFile {
  private readonly view: TaskView

  constructor(workspace: Workspace, session: string) {
    this.view = new TaskView(workspace, session, 'current_task.md')
  }

  /** Returns the edits of a person; `undefined` if the file is unchanged or missing. */
  async readEdit(): Promise<Edit> {
    const edit = await this.view.readEdit()
    if (!edit || 'problem' in edit) return edit
    try {
      return { tracker: parseTracker(edit.text) }
    } catch (error) {
      // The first line of the file is ours, so line numbers shift by one.
      const shifted =
        error instanceof MalformedLine
          ? new MalformedLine(error.line + 1, error.message.replace(/^Line \d+: /, ''))
          : error
      return { problem: `${edit.path} is not used: ${toErrorMessage(shifted)}` }
    }
  }

  /** Writes the tracker; returns the path of a foreign entry in the way. */
  write(tracker: Tracker): Promise<string | undefined> {
    return this.view.write(formatTracker(tracker))
  }
}
