import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { errno, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { checkContract } from '../../../core/schema/index.js'
import { redactText } from '../../../core/text/index.js'
import { lock } from '../../../core/workspace/index.js'
import { createScheduleError } from './errors.js'
import { findNextRuns } from './timing.js'
import { withPending, type PendingRun, type ScheduledTask, type TaskState } from './types.js'

/** Maximum number of schedules. */
const MAX_TASKS = 10_000
const isId = (text: string): boolean => /^[0-9a-f]{8}$/.test(text)

/** Invalid schedule file. */
export interface TaskFault {
  file: string
  reason: string
}
export interface TaskListing {
  tasks: ScheduledTask[]
  faults: TaskFault[]
}

/**
 * Schedules of a user: definitions below `<home>/scheduled_tasks`, state of this machine below
 * `<home>/state/scheduled_tasks`. Reads nothing of a workspace.
 */
export class TaskStore {
  readonly tasks: string
  readonly state: string

  constructor(home: string) {
    this.tasks = join(home, 'scheduled_tasks', 'tasks')
    this.state = join(home, 'state', 'scheduled_tasks')
  }

  /** Returns every schedule, the oldest first, and the invalid files. */
  list(): TaskListing {
    const listed: TaskListing = { tasks: [], faults: [] }
    for (const name of listNames(this.tasks)) {
      if (!name.endsWith('.json')) continue
      const file = join(this.tasks, name)
      try {
        const task = isId(name.slice(0, -5)) ? this.read(name.slice(0, -5)) : throwBadName()
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

  /** Returns a schedule; `undefined` if it does not exist. Throws if its file is invalid. */
  read(id: string): ScheduledTask | undefined {
    const text = readText(join(this.tasks, `${id}.json`))
    if (text === undefined) return undefined
    const value: unknown = JSON.parse(text)
    const [fault] = checkContract('schedule_task.1.json', value)
    if (fault) throw new Error(formatFault(fault))
    const task = value as ScheduledTask
    if (task.id !== id) throw new Error(`the id '${task.id}' differs from the name of the file`)
    return task
  }

  /** Returns the schedule with an id or a unique name. Throws VT_SCHED_NOT_FOUND. */
  find(name: string): ScheduledTask {
    const direct = isId(name) ? this.read(name) : undefined
    const named = direct ? [direct] : this.list().tasks.filter((task) => task.name === name)
    if (named.length === 1) return named[0]!
    if (named.length > 1)
      throw createScheduleError(
        'VT_SCHED_NOT_FOUND',
        `${named.length} schedules have the name '${name}'.`,
        `Use an id: ${named.map(({ id }) => id).join(', ')}.`,
      )
    throw createScheduleError('VT_SCHED_NOT_FOUND', `Schedule not found: '${name}'.`, 'Run `vtcode schedule list`.')
  }

  /** Saves a new schedule with a new id; safe for parallel calls. Throws VT_SCHED_FULL, VT_SCHED_SECRET. */
  async add(made: Omit<ScheduledTask, 'v' | 'id'>): Promise<ScheduledTask> {
    // The texts run later as they are, so a secret cannot be replaced in them.
    const texts = JSON.stringify([made.name, made.action])
    if (redactText(texts) !== texts)
      throw createScheduleError(
        'VT_SCHED_SECRET',
        'The schedule contains a secret, which would be stored as plain text.',
        'Put the secret into an environment variable, and name the variable.',
      )
    await using _ = await lock([`schedules:${this.tasks}`], this.tasks)
    const count = listNames(this.tasks).length
    if (count >= MAX_TASKS)
      throw createScheduleError(
        'VT_SCHED_FULL',
        `The limit of ${count} schedules is reached.`,
        'Delete one with `vtcode schedule delete <id>`.',
      )
    let id = ''
    do id = randomBytes(4).toString('hex')
    while (existsSync(join(this.tasks, `${id}.json`)))
    const task: ScheduledTask = { v: 1, id, ...made }
    this.writeState(id, this.createState(task, Date.parse(task.created_at)))
    this.write(task)
    return task
  }

  write(task: ScheduledTask): void {
    writeStateSync(join(this.tasks, `${task.id}.json`), `${JSON.stringify(task, null, 2)}\n`)
  }

  /** Removes the definition first: a run without a definition writes nothing more. */
  async remove(id: string): Promise<void> {
    await using _ = await this.lockTask(id)
    rmSync(join(this.tasks, `${id}.json`), { force: true })
    rmSync(join(this.state, `${id}.json`), { force: true })
    rmSync(join(this.state, 'runs', id), { recursive: true, force: true })
  }

  /** Returns the state of a schedule. An unreadable state starts again at `now`, so that no time runs twice. */
  loadState(task: ScheduledTask, now: number): TaskState {
    const known = this.readState(task.id)
    if (known) return known
    const state = this.createState(task, now)
    // Saved, so that the state does not start again at each call.
    this.writeState(task.id, state)
    return state
  }

  writeState(id: string, state: TaskState): void {
    writeStateSync(join(this.state, `${id}.json`), JSON.stringify(state))
  }

  /** Locks the state of a schedule for a change, across processes. */
  lockTask(id: string): Promise<AsyncDisposable> {
    return lock([`schedule:${this.state}:${id}`], join(this.state, `${id}.json`))
  }

  /** Enables or disables a schedule. A schedule that is enabled again has no pending runs of the time between. */
  async enable(task: ScheduledTask, enabled: boolean, now: number, more: Partial<ScheduledTask> = {}): Promise<void> {
    await using _ = await this.lockTask(task.id)
    const { paused: _paused, ...state } = this.loadState(task, now)
    if (enabled)
      this.writeState(task.id, withPending({ ...state, consecutive_failures: 0, ...findNextRuns(task, now) }, []))
    this.write({ ...task, ...more, enabled })
  }

  private readState(id: string): TaskState | undefined {
    try {
      const state: unknown = JSON.parse(readText(join(this.state, `${id}.json`)) ?? '')
      return isState(state) ? state : undefined
    } catch {
      return undefined
    }
  }

  private createState(task: ScheduledTask, after: number): TaskState {
    return withPending({ v: 1, ...findNextRuns(task, after), run_count: 0, consecutive_failures: 0 }, [])
  }
}

function throwBadName(): never {
  throw new Error('the name of the file must be 8 hexadecimal digits')
}

const formatFault = ({ path, problem }: { path: (string | number)[]; problem: string }): string =>
  [path.join('.'), problem].filter(Boolean).join(': ')

/** Reads a regular file of at most a mebibyte; follows no link and waits for no pipe. */
function readText(file: string): string | undefined {
  try {
    return readBytes(file, { real: (path) => path }).toString()
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

const isInstant = (value: unknown): boolean => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const isPendingRun = (value: unknown): value is PendingRun =>
  isObject(value) && isInstant(value['base']) && (value['attempt'] === 1 || value['attempt'] === 2)
function isState(value: unknown): value is TaskState {
  if (!isObject(value) || value['v'] !== 1 || !Array.isArray(value['owed']) || !value['owed'].every(isPendingRun))
    return false
  const isWhole = (key: string): boolean => Number.isSafeInteger(value[key])
  const isInstantOrNull = (key: string): boolean => value[key] === null || isInstant(value[key])
  return (
    isInstantOrNull('next_base_run_at') &&
    isInstantOrNull('next_run_at') &&
    isWhole('run_count') &&
    isWhole('consecutive_failures')
  )
}
