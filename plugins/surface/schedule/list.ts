import type { ScheduledTask, TaskState, Timing } from '../../lib/schedule/index.js'
import {
  shouldPrintJson,
  formatColumns,
  formatDocument,
  toOneLine,
  say,
  type OutputForm,
} from '../../lib/terminal/index.js'
import { identifyWorkspace, type ScheduleVerb } from './verb.js'

type KnownTask = ScheduledTask & { state: TaskState }
const MAX_COMING = 1000

/** Runs `schedule list`; warns about invalid files. */
export function listSchedules(here: ScheduleVerb, form: OutputForm): void {
  const { io } = here
  const { tasks, faults } = readSchedules(here)
  if (shouldPrintJson(io, form)) io.stdout.write(formatDocument(tasks))
  else
    io.stdout.write(
      tasks.length === 0
        ? 'No schedules. `vtcode schedule create` creates one.\n'
        : formatColumns(
            tasks.map((one) =>
              [one.id, one.name, formatTiming(one.schedule), describeNext(one), describeLast(one)].map(toOneLine),
            ),
          ),
    )
  for (const { file, reason } of faults) say(io, 'warning', toOneLine(`${file} is not used: ${reason}`))
}

function readSchedules({ store }: ScheduleVerb): { tasks: KnownTask[]; faults: { file: string; reason: string }[] } {
  const { tasks, faults } = store.list()
  const now = Date.now()
  return { tasks: tasks.map((task) => ({ ...task, state: store.loadState(task, now) })), faults }
}

/** Runs `schedule show`. */
export function showSchedule(here: ScheduleVerb, id: string, form: OutputForm): void {
  printSchedule(here, here.store.find(id), form)
}

/** Prints a schedule and its state, as JSON or for a person. */
export function printSchedule({ store, io }: ScheduleVerb, task: ScheduledTask, form: OutputForm): void {
  const state = store.loadState(task, Date.now())
  if (shouldPrintJson(io, form)) return void io.stdout.write(formatDocument({ ...task, state }))
  const { action } = task
  const rows: [string, string | undefined][] = [
    ['id', task.id],
    ['name', task.name],
    ['when', formatTiming(task.schedule)],
    ['next', describeNext({ ...task, state })],
    ['last', describeLast({ ...task, state })],
    [action.kind, action.kind === 'prompt' ? action.prompt : action.message],
    ['workspace', task.workspace],
    ['mode', task.mode],
    ['model', task.model],
    ['overlap', task.overlap],
    ['catch up', `${task.catch_up}, within the last ${task.catch_up_window_secs} s`],
    ['runs', `${state.run_count}${task.max_runs === undefined ? '' : ` of ${task.max_runs}`}`],
    ['paused', task.enabled ? undefined : (state.paused ?? 'by you')],
  ]
  io.stdout.write(
    formatColumns(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, toOneLine(value)]]))),
  )
}

/** Runs `schedule next`: prints the next times of all schedules, without jitter. */
export function printComingRuns(here: ScheduleVerb, { count, ...form }: OutputForm & { count?: string }): void {
  const { io, library } = here
  const wanted = Math.min(Math.max(Number(count ?? 10) || 10, 1), MAX_COMING)
  const coming: { at: string; id: string; name: string }[] = []
  for (const task of readSchedules(here).tasks) {
    if (!task.enabled) continue
    let at = task.state.next_base_run_at
    for (let found = 0; at !== null && found < wanted; found += 1) {
      coming.push({ at, id: task.id, name: task.name })
      const after = library.findNextBase(task.schedule, Date.parse(at))
      at = after === undefined ? null : new Date(after).toISOString()
    }
  }
  const first = coming.sort((a, b) => (a.at < b.at ? -1 : 1)).slice(0, wanted)
  if (shouldPrintJson(io, form)) io.stdout.write(formatDocument(first))
  else
    io.stdout.write(
      first.length === 0
        ? 'No runs are scheduled.\n'
        : formatColumns(first.map(({ at, id, name }) => [at, id, toOneLine(name)])),
    )
}

/**
 * Runs `schedule pause` or `resume`. Resuming records the identity of the workspace again; with `here`, of this one.
 */
export async function enableSchedule(
  here: ScheduleVerb,
  id: string,
  enabled: boolean,
  form: OutputForm & { here?: true },
): Promise<void> {
  const task = here.store.find(id)
  const workspace = form.here ? here.kernel.workspace : task.workspace
  await here.store.enable(
    task,
    enabled,
    Date.now(),
    enabled ? { workspace, workspace_id: identifyWorkspace(here, workspace) } : {},
  )
  printSchedule(here, here.store.find(task.id), form)
}

/** Runs `schedule delete`. */
export async function removeSchedule(here: ScheduleVerb, id: string, form: OutputForm): Promise<void> {
  const task = here.store.find(id)
  await here.store.remove(task.id)
  here.io.stdout.write(
    shouldPrintJson(here.io, form) ? formatDocument({ deleted: task.id }) : `${task.id} is deleted.\n`,
  )
}

/** Formats the times of a schedule for a person. */
function formatTiming(timing: Timing): string {
  if (timing.type === 'cron5') return `${timing.expression} (${timing.tz})`
  if (timing.type === 'one_shot') return `once, ${timing.at}`
  const [size, unit] = (
    [
      [86_400, 'd'],
      [3600, 'h'],
      [60, 'm'],
      [1, 's'],
    ] as const
  ).find(([size]) => timing.seconds % size === 0)!
  return `every ${timing.seconds / size}${unit}`
}

const describeNext = ({ enabled, state }: KnownTask): string => (enabled ? (state.next_run_at ?? 'over') : 'paused')
const describeLast = ({ state }: KnownTask): string =>
  state.last_run_at === undefined ? 'never ran' : `${state.last_status} ${state.last_run_at}`
