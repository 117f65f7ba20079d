import { oneLine } from '../../lib/terminal/index.js'
import { itemLines } from '../finish/index.js'
import type { Agent } from '../index.js'

/** The steps of the task as lines for a terminal. */
export const tasksText = ({ tracker }: Pick<Agent, 'tracker'>): string =>
  tracker ? `${[tracker.title, ...itemLines(tracker)].map(oneLine).join('\n')}\n` : 'There are no steps.\n'
