import { omitUndefined, failure } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { Tracker } from '../base/index.js'
import type { Evaluation } from './evaluation.js'
import type { PlanReply, ReplanReply } from './replies.js'
import { addItem, createTracker, type GivenItem } from '../task/index.js'

/** The limit for one step. */
const mostCommands = 10

/** Converts a step of a plan to a pending item of the tracker. */
export const toItem = ({ description, files, outcome, verify }: PlanReply['items'][number]): GivenItem => ({
  description,
  ...(files && { files }),
  ...omitUndefined({ outcome, verify }),
})

/** Adds the commands, points and steps of a revision that the tracker lacks. */
export function reviseTracker(
  tracker: Tracker | undefined,
  round: number,
  { summary, updates, falsifiers }: Evaluation,
  replan: ReplanReply | undefined,
): Tracker {
  const checks = Array.from({ length: Math.ceil(falsifiers.length / mostCommands) }, (_, at) =>
    falsifiers.slice(at * mostCommands, (at + 1) * mostCommands),
  )
  const items: GivenItem[] = [
    { description: truncateLine(`Revision ${round}: ${summary}`, 280), ...(checks[0] && { verify: checks[0] }) },
    ...checks.slice(1).map((verify, at) => ({ description: `Checks of revision ${round}, part ${at + 2}`, verify })),
    ...updates,
    ...(replan?.new_tracker_items.map(toItem) ?? []),
  ]
  let all = tracker ?? { title: 'Revision', items: [] }
  for (const item of items) {
    try {
      all = addItem(all, item)
    } catch (error) {
      // Duplicates, and items beyond the limit, are left out.
      if (!failure(error)) throw error
    }
  }
  return all
}

/** Converts the steps of a plan. Throws VT_INPUT_INVALID for twins and for a tracker that is too large. */
export const toTracker = ({ task_title, items }: PlanReply): Tracker =>
  createTracker({ title: task_title, items: items.map(toItem) })
