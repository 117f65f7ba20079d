import type { Client } from '@modelcontextprotocol/client'
import { isObject } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { originalSchema } from '../mcp_transport/wire.js'

interface Task {
  taskId: string
  status: string
  statusMessage?: unknown
  /** In milliseconds: `pollInterval` in the revision of 2025, `pollIntervalMs` in the extension. */
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

const POLL_PAUSE_MS = { least: 50, usual: 1_000, most: 10_000 }
const END_STATES = ['completed', 'failed', 'cancelled']

/**
 * Calls a tool as a task, by the revision of 2025-11-25 or by the extension `io.modelcontextprotocol/tasks` of
 * 2026-07-28. Polls the task until it ends and cancels it with the call. Returns the unchanged result of the tool.
 */
export async function callAsTask(client: Client, call: Call, limits: TaskLimits): Promise<unknown> {
  const created = await client.request(
    { method: 'tools/call', params: { ...call, task: { ttl: limits.timeout } } } as never,
    originalSchema as never,
    limits,
  )
  const { task } = (created ?? {}) as { task?: unknown }
  return isTask(task) ? awaitTask(client, task, limits) : created
}

/** Returns the task of a response, if it is one. */
export const findTask = (answer: unknown): Task | undefined =>
  isTask(answer) && (answer as { resultType?: unknown }).resultType === 'task' ? answer : undefined

const isTask = (task: unknown): task is Task =>
  isObject(task) && typeof task['taskId'] === 'string' && typeof task['status'] === 'string'

export async function awaitTask(client: Client, created: Task, limits: TaskLimits): Promise<unknown> {
  const { taskId } = created
  const request = (method: string): Promise<unknown> =>
    client.request({ method, params: { taskId } } as never, originalSchema as never, {
      signal: limits.signal,
      timeout: limits.timeout,
    })
  const until = performance.now() + limits.timeout
  let task = created
  try {
    for (let polls = 0; !END_STATES.includes(task.status); polls++) {
      // The server asks its user while we wait for the result.
      if (task.status === 'input_required' && client.getProtocolEra() !== 'modern') return await request('tasks/result')
      await wait(Math.min(readPollInterval(task), Math.max(1, until - performance.now())), limits.signal)
      if (performance.now() >= until)
        throw Object.assign(new Error('The task exceeded its time.'), { code: 'REQUEST_TIMEOUT' })
      const now = await request('tasks/get')
      if (!isTask(now))
        throw Object.assign(new Error(`The server did not return the task ${truncateLine(taskId, 80)}.`), {
          code: -32_603,
        })
      if (now.statusMessage !== task.statusMessage && typeof now.statusMessage === 'string')
        limits.onprogress({ progress: polls + 1, message: now.statusMessage })
      task = now
    }
  } catch (error) {
    void client
      .request({ method: 'tasks/cancel', params: { taskId } } as never, originalSchema as never, { timeout: 5_000 })
      .catch(() => {})
    throw error
  }
  if (task.status === 'cancelled') return createErrorResult(readStatusMessage(task) ?? 'The server cancelled the task.')
  if (client.getProtocolEra() !== 'modern') return request('tasks/result')
  if (task.status === 'completed') return task.result
  return createErrorResult(readErrorMessage(task.error) ?? readStatusMessage(task) ?? 'The task failed.')
}

const createErrorResult = (text: string) => ({ isError: true, content: [{ type: 'text', text }] })

const readErrorMessage = (error: unknown): string | undefined =>
  isObject(error) && typeof error['message'] === 'string' ? error['message'] : undefined

const readStatusMessage = ({ statusMessage }: Task): string | undefined =>
  typeof statusMessage === 'string' && statusMessage !== '' ? statusMessage : undefined

function readPollInterval({ pollInterval, pollIntervalMs }: Task): number {
  const asked = [pollIntervalMs, pollInterval].find((one) => typeof one === 'number' && Number.isFinite(one)) as
    | number
    | undefined
  return Math.min(POLL_PAUSE_MS.most, Math.max(POLL_PAUSE_MS.least, asked ?? POLL_PAUSE_MS.usual))
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
