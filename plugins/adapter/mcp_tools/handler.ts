import { omitUndefined } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import {
  problem,
  type AdapterContext,
  type Call,
  type Context,
  type Contribution,
  type Handler,
  type JsonObject,
  type Result,
} from '../../../core/index.js'
import { hashTool } from '../../lib/state/index.js'
import { createToolError, toToolResult } from './tool_result.js'
import { createChangeError, requireAgreed } from './changes.js'
import { findDefinition, openKeptServer, createStartError } from '../mcp_client/definition.js'
import { acquireServer } from '../mcp_client/pool.js'
import { readPrompt, readResources } from './reading.js'
import type { Connection } from '../mcp_client/server.js'
import { callAsTask, awaitTask, findTask, type TaskLimits } from './tasks.js'
import { originalSchema, readOriginal } from '../mcp_transport/wire.js'

/** The part of a server that a manifest serves: one tool, one prompt, or its resources. */
interface McpTarget {
  tool?: string
  pin?: string
  task?: true
  prompt?: string
  resources?: true
}

/** Creates the handler of a manifest with `mcp`, which calls one tool of a server. */
export function createHandler(contribution: Contribution, adapterContext: AdapterContext): Handler {
  const source = contribution.provider ?? contribution
  const found = findDefinition(source, adapterContext)
  if (!found)
    throw createStartError(
      contribution.id,
      `server '${toText(contribution.manifest.mcp!['server'])}' is not configured under mcp.servers`,
    )
  const { server, definition } = found
  const { tool = '', pin, task, prompt, resources } = contribution.manifest.mcp as McpTarget
  const { max_argument_bytes } = adapterContext.settings.mcp
  const seconds = definition.tool_timeout_secs ?? 120
  const running = acquireServer(server, definition, source, adapterContext)
  const kept = openKeptServer(server, definition, source, adapterContext)

  return async (call, context) => {
    const args =
      prompt === undefined ? pickOwnArguments(call, contribution.manifest.input ?? {}, context) : { ...call.input }
    const bytes = Buffer.byteLength(JSON.stringify(args))
    if (bytes > max_argument_bytes)
      throw problem('VT_INPUT_TOO_LARGE', { size: `${bytes} bytes`, limit: `${max_argument_bytes} bytes` })
    return running.use(context, async ({ client, tools }) => {
      const limits = createTaskLimits(context, seconds)
      if (resources) return runRequest(context, seconds, () => readResources(client, args['uri'], limits, context))
      if (prompt !== undefined)
        return runRequest(context, seconds, () => readPrompt(client, prompt, args, limits, context))
      const offered = tools.get(tool)
      if (!offered) throw createChangeError(server, tool, 'is not offered any more')
      if (pin !== undefined && hashTool(offered) !== pin) await requireAgreed(server, offered, kept, context)
      return runRequest(context, seconds, async () =>
        toToolResult(await callTool(client, { name: tool, arguments: args }, limits, task === true), tool, context),
      )
    })
  }
}

/** Returns the arguments of the tool, without the properties that policies and compactors add. */
function pickOwnArguments({ input }: Call, { properties = {} }: JsonObject, { slot }: Context): JsonObject {
  const isAdded = (name: string): boolean =>
    Object.hasOwn(slot.input['properties'] as object, name) && !Object.hasOwn(properties as object, name)
  return Object.fromEntries(Object.entries(input).filter(([name]) => !isAdded(name)))
}

function createTaskLimits(context: Context, seconds: number): TaskLimits {
  const onprogress: TaskLimits['onprogress'] = ({ progress, total, message }) =>
    context.progress({ done: progress, ...omitUndefined({ total, text: message }) })
  return { signal: context.signal, timeout: seconds * 1000, maxTotalTimeout: seconds * 1000, onprogress }
}

/** Calls a tool and returns the unchanged response. For a task, waits for its result. */
async function callTool(
  client: Connection['client'],
  call: { name: string; arguments: JsonObject },
  limits: TaskLimits,
  asTask: boolean,
): Promise<unknown> {
  // For servers of the newest revision, the client itself sets the headers.
  if (client.getProtocolEra() === 'modern') {
    const answer = readOriginal(await client.callTool(call, limits))
    const task = findTask(answer)
    return task ? awaitTask(client, task, limits) : answer
  }
  return asTask
    ? callAsTask(client, call, limits)
    : client.request({ method: 'tools/call', params: call } as never, originalSchema as never, limits)
}

async function runRequest(context: Context, seconds: number, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (context.signal.aborted) throw problem('VT_CALL_ABORTED')
    const { code, message } = error as { code?: unknown; message: string }
    if (code === 'REQUEST_TIMEOUT') throw problem('VT_CALL_TIMEOUT', { slot: context.slot.slot, seconds })
    if (typeof code === 'number') throw createToolError(message)
    throw error
  }
}
