import { AgentError, type AskedTask, type Msg, type SessionSchedule, type SessionTask } from '../base/index.js'
import type { Conversation, ConversationState } from '../session/index.js'
import type { ScheduledState } from './state.js'
import { nextOf, readAsked, readLoop, readReminder } from './timing.js'
import { scheduleTool } from './tool.js'

const most = 50
const lasts_ms = 72 * 3_600_000
/** Tools as they are shown where no person sits at the conversation: nothing begins by itself there. */
export const withoutSchedule = <T extends { name: string }>(tools: T[]): T[] =>
  tools.filter(({ name }) => name !== 'cron')

type Scheduling = Pick<Conversation, 'commit' | 'harness' | 'providers' | 'surface' | 'newId'> & {
  readonly state: ConversationState & ScheduledState
}

/** What a person has begin by itself while they sit at a conversation: it joins at idle boundaries, after what people say. Its facts are in the journal, so it comes back with the session. */
export class SessionTasks implements SessionSchedule {
  /** What the tool is lent. */
  readonly tool = scheduleTool(this)
  /** Tasks whose time is further away than their interval, since the clock was set back: when they are due instead. */
  private readonly sooner = new Map<string, number>()
  constructor(private readonly thread: Scheduling) {}

  list(): readonly SessionTask[] {
    return [...this.thread.state.tasks].sort((a, b) => (a.next < b.next ? -1 : 1))
  }

  async loop(text: string): Promise<SessionTask> {
    const { prompt, every_secs } = readLoop(text)
    const now = this.now()
    return this.add({
      prompt,
      every_secs,
      next: new Date(now + every_secs * 1000).toISOString(),
      ends: new Date(now + lasts_ms).toISOString(),
    })
  }

  async remind(text: string): Promise<SessionTask> {
    const { prompt, at } = await readReminder(text, this.now())
    return this.add({ prompt: `Remind me: ${prompt}`, next: new Date(at).toISOString() })
  }

  /** For a model. Throws as `loop` does, also where nobody sits at the conversation. */
  async create(asked: AskedTask): Promise<SessionTask> {
    const { env } = this.thread.providers
    const hint = '`vtcode schedule create` sets what begins without anybody.'
    if (!this.on && env['VTCODE_DISABLE_CRON'] !== '1')
      throw new AgentError('VT_SCHED_DISABLED', 'Nobody sits at this conversation, so nothing begins in it later.', {
        hint,
      })
    const now = this.now()
    const { at, ...task } = await readAsked(asked, now)
    const recurs = task.every_secs !== undefined || task.cron !== undefined
    return this.add({
      ...task,
      next: new Date(at).toISOString(),
      ...(recurs && { ends: new Date(now + lasts_ms).toISOString() }),
    })
  }

  /** Tools that a model is shown here. */
  readonly offered = <T extends { name: string }>(tools: T[]): T[] => (this.on ? tools : withoutSchedule(tools))

  async cancel(id: string): Promise<number> {
    const gone = this.list().filter((one) => id === 'all' || one.id === id)
    for (const one of gone) await this.thread.commit({ kind: 'task', task: { id: one.id, gone: true } })
    return gone.length
  }

  due(): number | undefined {
    const first = this.on ? this.first() : undefined
    return first === undefined || this.thread.state.open ? undefined : Math.max(0, first.at - this.now())
  }

  /** What is due now, as the input of a turn. */
  async next(): Promise<Msg | undefined> {
    const first = this.on ? this.first() : undefined
    const now = this.now()
    if (first === undefined || first.at > now) return undefined
    const { task, at } = first
    this.sooner.delete(task.id)
    const next = await nextOf({ ...task, next: new Date(at).toISOString() }, now)
    await this.thread.commit({
      kind: 'task',
      task: next === undefined ? { id: task.id, gone: true } : { ...task, next },
    })
    await this.thread.harness('schedule_fired', { message: `${task.id}: ${task.prompt.split('\n')[0]!.slice(0, 200)}` })
    return { role: 'user', parts: [{ type: 'text', text: task.prompt }], origin: 'schedule' }
  }

  private get on(): boolean {
    return this.thread.surface === 'chat' && this.thread.providers.env['VTCODE_DISABLE_CRON'] !== '1'
  }

  /** What is due first, and when. */
  private first(): { task: SessionTask; at: number } | undefined {
    return this.thread.state.tasks.map((task) => ({ task, at: this.timeOf(task) })).sort((a, b) => a.at - b.at)[0]
  }

  /** An interval is waited for once, also where the clock was set back meanwhile. */
  private timeOf({ id, next, every_secs = Infinity }: SessionTask): number {
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
      throw new AgentError('VT_SCHED_DISABLED', 'VTCODE_DISABLE_CRON=1 switches this off.', {
        hint: 'Begin the chat without it.',
      })
    const { tasks } = this.thread.state
    if (tasks.length >= most)
      throw new AgentError('VT_SCHED_FULL', `${most} tasks are set already.`, {
        hint: '/loop cancel <id> makes room; /loop list shows them.',
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
