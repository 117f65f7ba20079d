import type { Client } from '@modelcontextprotocol/client'
import { isObject } from '../../../core/shapes/index.js'
import { shortLine } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { asItCame } from '../mcp_transport/wire.js'

interface Task {
  taskId: string
  status: string
  statusMessage?: unknown
  /** In milliseconds: of the revision of 2025, and of the extension. */
  pollInterval?: unknown
  pollIntervalMs?: unknown
  result?: unknown
  error?: unknown
}
export interface TaskLimits {
  signal: AbortSignal
  timeout: number
  maxTotalTimeout: number
  onprogress(progress: { progress: number; total?: number | undefined; message?: string | undefined }): void
}
type Call = { name: string; arguments: JsonObject }

const pause = { least: 50, usual: 1_000, most: 10_000 }
const ended = ['completed', 'failed', 'cancelled']

/**
 * A call of a tool that answers with a task, as the revision of 2025-11-25 has it and as the extension `io.modelcontextprotocol/tasks` of
 * 2026-07-28: it is asked for until it is done, and called off with the call. Answers with the result of the tool, as it came.
 */
export async function callAsTask(client: Client, call: Call, limits: TaskLimits): Promise<unknown> {
  const created = await client.request(
    { method: 'tools/call', params: { ...call, task: { ttl: limits.timeout } } } as never,
    asItCame as never,
    limits,
  )
  const { task } = (created ?? {}) as { task?: unknown }
  return isTask(task) ? resultOf(client, task, limits) : created
}

/** The task that an answer stands for, where it is one. */
export const taskIn = (answer: unknown): Task | undefined =>
  isTask(answer) && (answer as { resultType?: unknown }).resultType === 'task' ? answer : undefined

const isTask = (task: unknown): task is Task =>
  isObject(task) && typeof task['taskId'] === 'string' && typeof task['status'] === 'string'

export async function resultOf(client: Client, created: Task, limits: TaskLimits): Promise<unknown> {
  const { taskId } = created
  const request = (method: string): Promise<unknown> =>
    client.request({ method, params: { taskId } } as never, asItCame as never, {
      signal: limits.signal,
      timeout: limits.timeout,
    })
  const until = performance.now() + limits.timeout
  let task = created
  try {
    for (let polls = 0; !ended.includes(task.status); polls++) {
      // What it needs from its user is asked while its result is waited for.
      if (task.status === 'input_required' && client.getProtocolEra() !== 'modern') return await request('tasks/result')
      await wait(Math.min(intervalOf(task), Math.max(1, until - performance.now())), limits.signal)
      if (performance.now() >= until)
        throw Object.assign(new Error('The task took too long.'), { code: 'REQUEST_TIMEOUT' })
      const now = await request('tasks/get')
      if (!isTask(now))
        throw Object.assign(new Error(`The server says nothing of the task ${shortLine(taskId, 80)}.`), {
          code: -32_603,
        })
      if (now.statusMessage !== task.statusMessage && typeof now.statusMessage === 'string')
        limits.onprogress({ progress: polls + 1, message: now.statusMessage })
      task = now
    }
  } catch (error) {
    void client
      .request({ method: 'tasks/cancel', params: { taskId } } as never, asItCame as never, { timeout: 5_000 })
      .catch(() => {})
    throw error
  }
  if (task.status === 'cancelled') return failed(said(task) ?? 'The server called the task off.')
  if (client.getProtocolEra() !== 'modern') return request('tasks/result')
  if (task.status === 'completed') return task.result
  return failed(errorIn(task.error) ?? said(task) ?? 'The task failed.')
}

const failed = (text: string) => ({ isError: true, content: [{ type: 'text', text }] })

const errorIn = (error: unknown): string | undefined =>
  isObject(error) && typeof error['message'] === 'string' ? error['message'] : undefined

const said = ({ statusMessage }: Task): string | undefined =>
  typeof statusMessage === 'string' && statusMessage !== '' ? statusMessage : undefined

function intervalOf({ pollInterval, pollIntervalMs }: Task): number {
  const asked = [pollIntervalMs, pollInterval].find((one) => typeof one === 'number' && Number.isFinite(one)) as
    | number
    | undefined
  return Math.min(pause.most, Math.max(pause.least, asked ?? pause.usual))
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
