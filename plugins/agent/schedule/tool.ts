import { fail, ok, type JsonObject, type Result } from '../../../core/shapes/index.js'
import { AgentError, type TaskRequest, type SessionTask } from '../base/index.js'
import { formatTiming } from './timing.js'

/** The functions of the tool `cron` in a conversation. Failures are results with their code. */
export interface ScheduleTool {
  create(request: TaskRequest): Promise<Result>
  list(): Result
  delete(id: string): Promise<Result>
}
interface Scheduled {
  list(): readonly SessionTask[]
  create(request: TaskRequest): Promise<SessionTask>
  cancel(id: string): Promise<number>
}

export function createScheduleTool(tasks: Scheduled): ScheduleTool {
  return {
    async create(request) {
      try {
        const task = await tasks.create(request)
        return ok(toOutput(task), { text: `Set: ${formatTask(task)}` })
      } catch (error) {
        if (!(error instanceof AgentError)) throw error
        return fail(error.code, error.message, error.extra)
      }
    },
    list() {
      const all = tasks.list()
      return ok(
        { tasks: all.map(toOutput) },
        { text: all.length === 0 ? 'There are no scheduled tasks.' : all.map(formatTask).join('\n') },
      )
    },
    async delete(id) {
      const gone = await tasks.cancel(id)
      if (gone > 0) return ok({ deleted: gone }, { text: `${gone} deleted.` })
      const ids = tasks.list().map((task) => task.id)
      return fail('VT_SCHED_NOT_FOUND', `There is no task '${id}'.`, {
        hint:
          ids.length > 0
            ? `Use one of these ids: ${ids.join(', ')}; or 'all' for every task.`
            : 'There are no scheduled tasks.',
      })
    },
  }
}

const toOutput = (task: SessionTask): JsonObject => ({
  id: task.id,
  prompt: task.prompt,
  when: formatTiming(task),
  next: task.next,
  ...(task.ends !== undefined && { ends: task.ends }),
})

const formatTask = (task: SessionTask): string =>
  `${task.id}  ${formatTiming(task)}, next at ` +
  `${task.next}${task.ends === undefined ? '' : `, until ${task.ends}`}: ` +
  `${task.prompt.split('\n')[0]!.slice(0, 200)}`
