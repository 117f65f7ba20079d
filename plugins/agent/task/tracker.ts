import { problem, VtError } from '../../../core/shapes/index.js'
import type { TaskStatus, Tracker, TrackerItem } from '../base/index.js'

/** An item as input: a text, or its parts. */
export type GivenItem =
  | string
  | (Partial<Omit<TrackerItem, 'verify'>> & { description: string; verify?: string | string[] })
export interface GivenTracker {
  title: string
  items: GivenItem[]
}
export interface ItemUpdate {
  /** 1-based. */
  index: number
  status?: TaskStatus
  outcome?: string
  files?: string[]
  verify?: string | string[]
  notes?: string
}
export const mostItems = 100
const largest = 64 * 1024

export const marks: Readonly<Record<TaskStatus, string>> = {
  pending: ' ',
  in_progress: '/',
  completed: 'x',
  blocked: '!',
}
/** Returns whether an item still has to be done; a blocked one does not. */
export const isOpen = ({ status }: TrackerItem): boolean => status === 'pending' || status === 'in_progress'

/** Creates a tracker. Throws VT_INPUT_INVALID for duplicates and for a tracker that is too large. */
export function createTracker({ title, items }: GivenTracker): Tracker {
  return checkTracker({ title: title.trim(), items: items.map(createItem) })
}

/** Updates one item. Throws VT_TASK_INDEX. */
export function updateTracker(tracker: Tracker, { index, notes, ...change }: ItemUpdate): Tracker {
  const old = tracker.items[index - 1]
  if (!old) throw createIndexError(tracker, index)
  const items = tracker.items.with(index - 1, createItem({ ...old, ...change }))
  const kept = notes === undefined ? tracker.notes : notes.trim()
  const { notes: _, ...rest } = tracker
  return checkTracker({ ...rest, items, ...(kept && { notes: kept }) })
}

/** Adds an item after another one, or at the end. Throws VT_TASK_INDEX, VT_TASK_FULL. */
export function addItem(tracker: Tracker, item: GivenItem, after = tracker.items.length): Tracker {
  if (tracker.items.length >= mostItems) throw full
  if (after > tracker.items.length) throw createIndexError(tracker, after)
  return checkTracker({ ...tracker, items: tracker.items.toSpliced(after, 0, createItem(item)) })
}

const full = new VtError({
  code: 'VT_TASK_FULL',
  message: `The tracker has ${mostItems} items; no more are possible.`,
  hint: 'Begin another one with fewer, larger items.',
  retryable: false,
})
const createIndexError = (tracker: Tracker, index: number): VtError =>
  new VtError({
    code: 'VT_TASK_INDEX',
    message: `Item ${index} not found; the items are 1 to ${tracker.items.length}.`,
    hint: `Use the number of one of these items:\n${formatItems(tracker).join('\n')}`,
    retryable: false,
  })

/** Checks a whole tracker: edits of a person obey the rules of a call. */
export function checkTracker(tracker: Tracker): Tracker {
  const seen = new Map<string, number>()
  for (const [at, { description }] of tracker.items.entries()) {
    const before = seen.get(description)
    if (before !== undefined)
      throw problem('VT_INPUT_INVALID', {
        problem: `items[${at}] is ${JSON.stringify(description)}, as items[${before}] is; each must be different.`,
      })
    seen.set(description, at)
  }
  const bytes = Buffer.byteLength(JSON.stringify(tracker))
  if (bytes > largest)
    throw problem('VT_INPUT_INVALID', {
      problem: `The tracker would take ${bytes} bytes; at most ${largest} are possible.`,
    })
  return tracker
}

function createItem(given: GivenItem): TrackerItem {
  const {
    description,
    status = 'pending',
    files = [],
    outcome = '',
    verify = [],
  } = typeof given === 'string' ? { description: given } : given
  const texts = (list: string | readonly string[]): string[] =>
    [list]
      .flat()
      .map((text) => text.trim())
      .filter(Boolean)
  const [named, commands] = [texts(files), texts(verify)]
  return {
    description: description.trim(),
    status,
    ...(named.length > 0 && { files: named }),
    ...(outcome.trim() && { outcome: outcome.trim() }),
    ...(commands.length > 0 && { verify: commands }),
  }
}

/** Summarizes the tracker for a model: title, progress, open items. */
export function summarizeTracker(tracker: Tracker): string[] {
  const done = tracker.items.filter(({ status }) => status === 'completed').length
  return [
    `Task tracker: ${tracker.title} (${done} of ${tracker.items.length} completed)`,
    ...formatItems(tracker, (item) => isOpen(item) || item.status === 'blocked'),
  ]
}

/** Formats each item as a line: `2 [/] Add retry  verify: npm test`. */
export function formatItems({ items }: Tracker, shown: (item: TrackerItem) => boolean = () => true): string[] {
  return items.flatMap((item, at) => {
    const verify = item.verify ? `  verify: ${item.verify.join('; ')}` : ''
    return shown(item) ? [`${at + 1} [${marks[item.status]}] ${item.description}${verify}`] : []
  })
}
