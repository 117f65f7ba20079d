import { definedOnly } from '../../../core/shapes/index.js'
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
import { toolDigest } from '../../lib/state/index.js'
import { toolError, toolResult } from './answer.js'
import { changed, requireAgreed } from './changes.js'
import { definitionOf, keptServer, startFailure } from '../mcp_client/definition.js'
import { holdServer } from '../mcp_client/pool.js'
import { promptResult, resourcesResult } from './reading.js'
import type { Connection } from '../mcp_client/server.js'
import { callAsTask, resultOf, taskIn, type TaskLimits } from './tasks.js'
import { asItCame, came } from '../mcp_transport/wire.js'

/** What of a server a manifest means: one tool, one prompt, or its resources. */
interface Target {
  tool?: string
  pin?: string
  task?: true
  prompt?: string
  resources?: true
}

/** The handler of a manifest with `mcp`: it calls one tool of a server. */
export function handlerOf(contribution: Contribution, adapterContext: AdapterContext): Handler {
  const bringer = contribution.bringer ?? contribution
  const found = definitionOf(bringer, adapterContext)
  if (!found)
    throw startFailure(
      contribution.id,
      `server '${toText(contribution.manifest.mcp!['server'])}' is not configured under mcp.servers`,
    )
  const { server, definition } = found
  const { tool = '', pin, task, prompt, resources } = contribution.manifest.mcp as Target
  const { max_argument_bytes } = adapterContext.settings.mcp
  const seconds = definition.tool_timeout_secs ?? 120
  const running = holdServer(server, definition, bringer, adapterContext)
  const kept = keptServer(server, definition, bringer, adapterContext)

  return async (call, context) => {
    const args =
      prompt === undefined ? argumentsOf(call, contribution.manifest.input ?? {}, context) : { ...call.input }
    const bytes = Buffer.byteLength(JSON.stringify(args))
    if (bytes > max_argument_bytes)
      throw problem('VT_INPUT_TOO_LARGE', { size: `${bytes} bytes`, limit: `${max_argument_bytes} bytes` })
    return running.use(context, async ({ client, tools }) => {
      const limits = limitsOf(context, seconds)
      if (resources) return asked(context, seconds, () => resourcesResult(client, args['uri'], limits, context))
      if (prompt !== undefined)
        return asked(context, seconds, () => promptResult(client, prompt, args, limits, context))
      const offered = tools.get(tool)
      if (!offered) throw changed(server, tool, 'is not offered any more')
      if (pin !== undefined && toolDigest(offered) !== pin) await requireAgreed(server, offered, kept, context)
      return asked(context, seconds, async () =>
        toolResult(await answerOf(client, { name: tool, arguments: args }, limits, task === true), tool, context),
      )
    })
  }
}

/** What the caller gave; properties that policies and compactors add to the tool's own are ours. */
function argumentsOf({ input }: Call, { properties = {} }: JsonObject, { slot }: Context): JsonObject {
  const added = (name: string): boolean =>
    Object.hasOwn(slot.input['properties'] as object, name) && !Object.hasOwn(properties as object, name)
  return Object.fromEntries(Object.entries(input).filter(([name]) => !added(name)))
}

function limitsOf(context: Context, seconds: number): TaskLimits {
  const onprogress: TaskLimits['onprogress'] = ({ progress, total, message }) =>
    context.progress({ done: progress, ...definedOnly({ total, text: message }) })
  return { signal: context.signal, timeout: seconds * 1000, maxTotalTimeout: seconds * 1000, onprogress }
}

/** The answer of a tool as it came; one that is a task is waited for. */
async function answerOf(
  client: Connection['client'],
  call: { name: string; arguments: JsonObject },
  limits: TaskLimits,
  asTask: boolean,
): Promise<unknown> {
  // To a server of the newest revision the client itself says what belongs into its headers.
  if (client.getProtocolEra() === 'modern') {
    const answer = came(await client.callTool(call, limits))
    const task = taskIn(answer)
    return task ? resultOf(client, task, limits) : answer
  }
  return asTask
    ? callAsTask(client, call, limits)
    : client.request({ method: 'tools/call', params: call } as never, asItCame as never, limits)
}

async function asked(context: Context, seconds: number, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (context.signal.aborted) throw problem('VT_CALL_ABORTED')
    const { code, message } = error as { code?: unknown; message: string }
    if (code === 'REQUEST_TIMEOUT') throw problem('VT_CALL_TIMEOUT', { slot: context.slot.slot, seconds })
    if (typeof code === 'number') throw toolError(message)
    throw error
  }
}
