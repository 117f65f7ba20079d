import { fail, ok, type JsonObject, type Result } from '../../../core/shapes/index.js'
import { AgentError, type AskedTask, type SessionTask } from '../base/index.js'
import { saidWhen } from './timing.js'

/** What the tool `cron` does in a conversation, which lends it. A failure is an answer, by its code. */
export interface ScheduleTool {
  create(asked: AskedTask): Promise<Result>
  list(): Result
  delete(id: string): Promise<Result>
}
interface Scheduled {
  list(): readonly SessionTask[]
  create(asked: AskedTask): Promise<SessionTask>
  cancel(id: string): Promise<number>
}

export function scheduleTool(tasks: Scheduled): ScheduleTool {
  return {
    async create(asked) {
      try {
        const task = await tasks.create(asked)
        return ok(shown(task), { text: `Set: ${lineOf(task)}` })
      } catch (error) {
        if (!(error instanceof AgentError)) throw error
        return fail(error.code, error.message, error.extra)
      }
    },
    list() {
      const all = tasks.list()
      return ok(
        { tasks: all.map(shown) },
        { text: all.length === 0 ? 'Nothing begins by itself.' : all.map(lineOf).join('\n') },
      )
    },
    async delete(id) {
      const gone = await tasks.cancel(id)
      if (gone > 0) return ok({ deleted: gone }, { text: `${gone} deleted.` })
      const ids = tasks.list().map((task) => task.id)
      return fail('VT_SCHED_NOT_FOUND', `There is no task '${id}'.`, {
        hint: ids.length > 0 ? `There are ${ids.join(', ')}, and 'all' for every one.` : 'Nothing begins by itself.',
      })
    },
  }
}

const shown = (task: SessionTask): JsonObject => ({
  id: task.id,
  prompt: task.prompt,
  when: saidWhen(task),
  next: task.next,
  ...(task.ends !== undefined && { ends: task.ends }),
})

const lineOf = (task: SessionTask): string =>
  `${task.id}  ${saidWhen(task)}, next at ${task.next}${task.ends === undefined ? '' : `, until ${task.ends}`}: ${task.prompt.split('\n')[0]!.slice(0, 200)}`
