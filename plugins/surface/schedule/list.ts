import type { ScheduledTask, TaskState, Timing } from '../../lib/schedule/index.js'
import { asDocument, columns, documentText, oneLine, say, type OutputForm } from '../../lib/terminal/index.js'
import { ownWorkspace, type ScheduleVerb } from './verb.js'

type Known = ScheduledTask & { state: TaskState }
const most = 1000

/** `schedule list`. Files that are no schedules are named, and the others are shown. */
export function listSchedules(here: ScheduleVerb, form: OutputForm): void {
  const { io } = here
  const { tasks, faults } = known(here)
  if (asDocument(io, form)) io.stdout.write(documentText(tasks))
  else
    io.stdout.write(
      tasks.length === 0
        ? 'There are no schedules; `vtcode schedule create` sets one.\n'
        : columns(tasks.map((one) => [one.id, one.name, when(one.schedule), dueOf(one), lastOf(one)].map(oneLine))),
    )
  for (const { file, reason } of faults) say(io, 'warning', oneLine(`${file} is not used: ${reason}`))
}

function known({ store }: ScheduleVerb): { tasks: Known[]; faults: { file: string; reason: string }[] } {
  const { tasks, faults } = store.list()
  const now = Date.now()
  return { tasks: tasks.map((task) => ({ ...task, state: store.stateOf(task, now) })), faults }
}

/** `schedule show`. */
export function showSchedule(here: ScheduleVerb, id: string, form: OutputForm): void {
  tellSchedule(here, here.store.find(id), form)
}

/** A schedule with what is known of it, as a document or for a person. */
export function tellSchedule({ store, io }: ScheduleVerb, task: ScheduledTask, form: OutputForm): void {
  const state = store.stateOf(task, Date.now())
  if (asDocument(io, form)) return void io.stdout.write(documentText({ ...task, state }))
  const { action } = task
  const rows: [string, string | undefined][] = [
    ['id', task.id],
    ['name', task.name],
    ['when', when(task.schedule)],
    ['next', dueOf({ ...task, state })],
    ['last', lastOf({ ...task, state })],
    [action.kind, action.kind === 'prompt' ? action.prompt : action.message],
    ['workspace', task.workspace],
    ['mode', task.mode],
    ['model', task.model],
    ['overlap', task.overlap],
    ['catch up', `${task.catch_up}, of the last ${task.catch_up_window_secs} s`],
    ['runs', `${state.run_count}${task.max_runs === undefined ? '' : ` of ${task.max_runs}`}`],
    ['paused', task.enabled ? undefined : (state.paused ?? 'by you')],
  ]
  io.stdout.write(columns(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, oneLine(value)]]))))
}

/** `schedule next`: the coming times of all schedules, without jitter. */
export function comingRuns(here: ScheduleVerb, { count, ...form }: OutputForm & { count?: string }): void {
  const { io, library } = here
  const wanted = Math.min(Math.max(Number(count ?? 10) || 10, 1), most)
  const coming: { at: string; id: string; name: string }[] = []
  for (const task of known(here).tasks) {
    if (!task.enabled) continue
    let at = task.state.next_base_run_at
    for (let found = 0; at !== null && found < wanted; found += 1) {
      coming.push({ at, id: task.id, name: task.name })
      const after = library.nextBase(task.schedule, Date.parse(at))
      at = after === undefined ? null : new Date(after).toISOString()
    }
  }
  const first = coming.sort((a, b) => (a.at < b.at ? -1 : 1)).slice(0, wanted)
  if (asDocument(io, form)) io.stdout.write(documentText(first))
  else
    io.stdout.write(
      first.length === 0 ? 'Nothing comes.\n' : columns(first.map(({ at, id, name }) => [at, id, oneLine(name)])),
    )
}

/** `schedule pause` and `schedule resume`; the latter takes the workspace as it is now for the right one, or with `here` this one. */
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
    enabled ? { workspace, workspace_id: ownWorkspace(here, workspace) } : {},
  )
  tellSchedule(here, here.store.find(task.id), form)
}

/** `schedule delete`. */
export async function removeSchedule(here: ScheduleVerb, id: string, form: OutputForm): Promise<void> {
  const task = here.store.find(id)
  await here.store.remove(task.id)
  here.io.stdout.write(asDocument(here.io, form) ? documentText({ deleted: task.id }) : `${task.id} is deleted.\n`)
}

/** When something is due, for a person. */
function when(timing: Timing): string {
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

const dueOf = ({ enabled, state }: Known): string => (enabled ? (state.next_run_at ?? 'over') : 'paused')
const lastOf = ({ state }: Known): string =>
  state.last_run_at === undefined ? 'never ran' : `${state.last_status} ${state.last_run_at}`
