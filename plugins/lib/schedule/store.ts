import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { errno, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { conform } from '../../../core/schema/index.js'
import { lock } from '../../../core/workspace/index.js'
import { scheduleProblem } from './errors.js'
import { nextRuns } from './timing.js'
import type { OwedRun, ScheduledTask, TaskState } from './types.js'

/** More schedules are refused. */
const most = 10_000
const isId = (text: string): boolean => /^[0-9a-f]{8}$/.test(text)

/** A file that is no schedule. */
export interface TaskFault {
  file: string
  reason: string
}
export interface TaskListing {
  tasks: ScheduledTask[]
  faults: TaskFault[]
}

/** The schedules of a user: definitions below `<home>/scheduled_tasks`, what this machine knows of them below `<home>/state/scheduled_tasks`. Nothing of a workspace is read. */
export class TaskStore {
  readonly tasks: string
  readonly state: string

  constructor(home: string) {
    this.tasks = join(home, 'scheduled_tasks', 'tasks')
    this.state = join(home, 'state', 'scheduled_tasks')
  }

  /** Every schedule, the oldest first, and the files that are none. */
  list(): TaskListing {
    const listed: TaskListing = { tasks: [], faults: [] }
    for (const name of namesIn(this.tasks)) {
      if (!name.endsWith('.json')) continue
      const file = join(this.tasks, name)
      try {
        const task = isId(name.slice(0, -5)) ? this.read(name.slice(0, -5)) : badName()
        if (task) listed.tasks.push(task)
      } catch (error) {
        listed.faults.push({ file, reason: (error as Error).message })
      }
    }
    listed.tasks.sort((a, b) =>
      a.created_at < b.created_at || (a.created_at === b.created_at && a.id < b.id) ? -1 : 1,
    )
    return listed
  }

  /** A schedule; `undefined` where there is none. Throws where its file is no schedule. */
  read(id: string): ScheduledTask | undefined {
    const text = textIn(join(this.tasks, `${id}.json`))
    if (text === undefined) return undefined
    const value: unknown = JSON.parse(text)
    const [fault] = conform('schedule_task.1.json', value)
    if (fault) throw new Error(faultText(fault))
    const task = value as ScheduledTask
    if (task.id !== id) throw new Error(`it says that its id is '${task.id}'`)
    return task
  }

  /** The schedule of an id, or of a name that only one has. Throws VT_SCHED_NOT_FOUND. */
  find(name: string): ScheduledTask {
    const direct = isId(name) ? this.read(name) : undefined
    const named = direct ? [direct] : this.list().tasks.filter((task) => task.name === name)
    if (named.length === 1) return named[0]!
    if (named.length > 1)
      throw scheduleProblem(
        'VT_SCHED_NOT_FOUND',
        `${named.length} schedules have the name '${name}'.`,
        `Say which by its id: ${named.map(({ id }) => id).join(', ')}.`,
      )
    throw scheduleProblem('VT_SCHED_NOT_FOUND', `Schedule not found: '${name}'.`, '`vtcode schedule list` shows them.')
  }

  /** Keeps a new schedule under an id of its own. Two that are added at once both stay. Throws VT_SCHED_FULL. */
  async add(made: Omit<ScheduledTask, 'v' | 'id'>): Promise<ScheduledTask> {
    await using _ = await lock([`schedules:${this.tasks}`], this.tasks)
    const count = namesIn(this.tasks).length
    if (count >= most)
      throw scheduleProblem(
        'VT_SCHED_FULL',
        `There are ${count} schedules already.`,
        '`vtcode schedule delete <id>` makes room.',
      )
    let id = ''
    do id = randomBytes(4).toString('hex')
    while (existsSync(join(this.tasks, `${id}.json`)))
    const task: ScheduledTask = { v: 1, id, ...made }
    this.writeState(id, this.initial(task, Date.parse(task.created_at)))
    this.write(task)
    return task
  }

  write(task: ScheduledTask): void {
    writeStateSync(join(this.tasks, `${task.id}.json`), `${JSON.stringify(task, null, 2)}\n`)
  }

  /** The schedule first: what runs and finds none writes nothing more. */
  async remove(id: string): Promise<void> {
    await using _ = await this.holding(id)
    rmSync(join(this.tasks, `${id}.json`), { force: true })
    rmSync(join(this.state, `${id}.json`), { force: true })
    rmSync(join(this.state, 'runs', id), { recursive: true, force: true })
  }

  /** What is known of a schedule. Where that cannot be read it begins anew with `now`: a time that was run is not run again. */
  stateOf(task: ScheduledTask, now: number): TaskState {
    const known = this.readState(task.id)
    if (known) return known
    const state = this.initial(task, now)
    // Kept, so that it does not begin anew each time it is asked.
    this.writeState(task.id, state)
    return state
  }

  writeState(id: string, state: TaskState): void {
    writeStateSync(join(this.state, `${id}.json`), JSON.stringify(state))
  }

  /** One at a time, over all processes: who reads the state of a schedule to change it. */
  holding(id: string): Promise<AsyncDisposable> {
    return lock([`schedule:${this.state}:${id}`], join(this.state, `${id}.json`))
  }

  /** Changes whether a schedule runs by itself; one that begins again owes nothing of the time between. */
  async enable(task: ScheduledTask, enabled: boolean, now: number, more: Partial<ScheduledTask> = {}): Promise<void> {
    await using _ = await this.holding(task.id)
    const { paused: _paused, ...state } = this.stateOf(task, now)
    if (enabled) this.writeState(task.id, { ...state, owed: [], consecutive_failures: 0, ...nextRuns(task, now) })
    this.write({ ...task, ...more, enabled })
  }

  private readState(id: string): TaskState | undefined {
    try {
      const state: unknown = JSON.parse(textIn(join(this.state, `${id}.json`)) ?? '')
      return isState(state) ? state : undefined
    } catch {
      return undefined
    }
  }

  private initial(task: ScheduledTask, after: number): TaskState {
    return { v: 1, ...nextRuns(task, after), owed: [], run_count: 0, consecutive_failures: 0 }
  }
}

function badName(): never {
  throw new Error('its name is no id of 8 hexadecimal digits')
}

const faultText = ({ path, problem }: { path: (string | number)[]; problem: string }): string =>
  [path.join('.'), problem].filter(Boolean).join(': ')

/** Only regular files of the user: no link is followed, no pipe is waited for, nothing is larger than a mebibyte. */
function textIn(file: string): string | undefined {
  try {
    return readBytes(file, { real: (path) => path }).toString()
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

const isInstant = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const isOwed = (value: unknown): value is OwedRun =>
  isObject(value) && isInstant(value['base']) && (value['attempt'] === 1 || value['attempt'] === 2)
function isState(value: unknown): value is TaskState {
  if (!isObject(value) || value['v'] !== 1 || !Array.isArray(value['owed']) || !value['owed'].every(isOwed))
    return false
  const whole = (key: string): boolean => Number.isSafeInteger(value[key])
  const orNone = (key: string): boolean => value[key] === null || isInstant(value[key])
  return orNone('next_base_run_at') && orNone('next_run_at') && whole('run_count') && whole('consecutive_failures')
}
