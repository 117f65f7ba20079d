import { AgentError, type TaskRequest, type Msg, type SessionSchedule, type SessionTask } from '../base/index.js'
import type { Conversation, ConversationState } from '../session/index.js'
import type { ScheduledState } from './state.js'
import { findNextTime, parseTaskRequest, parseLoop, parseReminder } from './timing.js'
import { createScheduleTool } from './tool.js'

const most = 50
const lasts_ms = 72 * 3_600_000
/** Removes the schedule tool where no person is present: no task starts there. */
export const excludeScheduleTool = <T extends { name: string }>(tools: T[]): T[] =>
  tools.filter(({ name }) => name !== 'cron')

type Scheduling = Pick<Conversation, 'commit' | 'harness' | 'providers' | 'surface' | 'newId'> & {
  readonly state: ConversationState & ScheduledState
}

/**
 * The scheduled tasks of a chat. A due task starts at an idle boundary, after the inputs of people. The journal keeps
 * the tasks with the session.
 */
export class SessionTasks implements SessionSchedule {
  /** The functions for the tool. */
  readonly tool = createScheduleTool(this)
  /** Due times of tasks that a clock change moved further away than their interval. */
  private readonly sooner = new Map<string, number>()
  constructor(private readonly thread: Scheduling) {}

  list(): readonly SessionTask[] {
    return [...this.thread.state.tasks].sort((a, b) => (a.next < b.next ? -1 : 1))
  }

  async loop(text: string): Promise<SessionTask> {
    const { prompt, every_secs } = parseLoop(text)
    const now = this.now()
    return this.add({
      prompt,
      every_secs,
      next: new Date(now + every_secs * 1000).toISOString(),
      ends: new Date(now + lasts_ms).toISOString(),
    })
  }

  async remind(text: string): Promise<SessionTask> {
    const { prompt, at } = await parseReminder(text, this.now())
    return this.add({ prompt: `Remind me: ${prompt}`, next: new Date(at).toISOString() })
  }

  /** Creates a task for a model. Throws as `loop` does, also without a person at the conversation. */
  async create(request: TaskRequest): Promise<SessionTask> {
    const { env } = this.thread.providers
    const hint = 'Use `vtcode schedule create` for runs without a person.'
    if (!this.isEnabled && env['VTCODE_DISABLE_CRON'] !== '1')
      throw new AgentError('VT_SCHED_DISABLED', 'Scheduled tasks need a person at this conversation.', {
        hint,
      })
    const now = this.now()
    const { at, ...task } = await parseTaskRequest(request, now)
    const recurs = task.every_secs !== undefined || task.cron !== undefined
    return this.add({
      ...task,
      next: new Date(at).toISOString(),
      ...(recurs && { ends: new Date(now + lasts_ms).toISOString() }),
    })
  }

  /** Lists the tools for the model. */
  readonly filterTools = <T extends { name: string }>(tools: T[]): T[] =>
    this.isEnabled ? tools : excludeScheduleTool(tools)

  async cancel(id: string): Promise<number> {
    const gone = this.list().filter((one) => id === 'all' || one.id === id)
    for (const one of gone) await this.thread.commit({ kind: 'task', task: { id: one.id, gone: true } })
    return gone.length
  }

  due(): number | undefined {
    const first = this.isEnabled ? this.findFirst() : undefined
    return first === undefined || this.thread.state.open ? undefined : Math.max(0, first.at - this.now())
  }

  /** Returns the due task as the input of a turn. */
  async next(): Promise<Msg | undefined> {
    const first = this.isEnabled ? this.findFirst() : undefined
    const now = this.now()
    if (first === undefined || first.at > now) return undefined
    const { task, at } = first
    this.sooner.delete(task.id)
    const next = await findNextTime({ ...task, next: new Date(at).toISOString() }, now)
    await this.thread.commit({
      kind: 'task',
      task: next === undefined ? { id: task.id, gone: true } : { ...task, next },
    })
    await this.thread.harness('schedule_fired', { message: `${task.id}: ${task.prompt.split('\n')[0]!.slice(0, 200)}` })
    return { role: 'user', parts: [{ type: 'text', text: task.prompt }], origin: 'schedule' }
  }

  private get isEnabled(): boolean {
    return this.thread.surface === 'chat' && this.thread.providers.env['VTCODE_DISABLE_CRON'] !== '1'
  }

  /** Returns the next task and its time. */
  private findFirst(): { task: SessionTask; at: number } | undefined {
    return this.thread.state.tasks.map((task) => ({ task, at: this.getDueTime(task) })).sort((a, b) => a.at - b.at)[0]
  }

  /** Returns the due time; a clock change does not repeat the interval. */
  private getDueTime({ id, next, every_secs = Infinity }: SessionTask): number {
    const [at, latest] = [Date.parse(next), this.now() + every_secs * 1000]
    if (at <= latest) return at
    const sooner = Math.min(this.sooner.get(id) ?? latest, latest)
    this.sooner.set(id, sooner)
    return sooner
  }

  private now(): number {
    return this.thread.providers.clock.now()
  }

  private async add(made: Omit<SessionTask, 'id'>): Promise<SessionTask> {
    if (this.thread.providers.env['VTCODE_DISABLE_CRON'] === '1')
      throw new AgentError('VT_SCHED_DISABLED', 'VTCODE_DISABLE_CRON=1 disables scheduled tasks.', {
        hint: 'Start the chat without this variable.',
      })
    const { tasks } = this.thread.state
    if (tasks.length >= most)
      throw new AgentError('VT_SCHED_FULL', `${most} scheduled tasks are the limit.`, {
        hint: 'Delete one with cron delete, or /loop cancel <id>.',
      })
    const { length } = made.prompt
    if (length > 8192)
      throw new AgentError('VT_SCHED_BAD_EXPRESSION', `The text has ${length} characters; at most 8192 are possible.`, {
        hint: 'Put the rest into a file, and name it in the text.',
      })
    const numbers = tasks.map(({ id }) => Number(id))
    const task: SessionTask = { id: `${Math.max(0, ...numbers) + 1}`, ...made }
    await this.thread.commit({ kind: 'task', task })
    return task
  }
}
