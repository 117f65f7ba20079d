import { problem, type Adapter, type Call, type Context, type JsonObject, type Result } from '../../core/index.js'
import { toolResult, toolError } from './mcp_client/answer.js'
import { definitionOf, startFailure } from './mcp_client/definition.js'
import { changed, expand } from './mcp_client/expand.js'
import { digest } from './mcp_client/pins.js'
import { holdServer } from './mcp_client/pool.js'
import type { Connection } from './mcp_client/server.js'

/** Turns a manifest with `mcp` into a handler that calls one tool of a server. */
const mcp: Adapter = (contribution, adapterContext) => {
  const found = definitionOf(contribution, adapterContext)
  if (!found) throw startFailure(contribution.id, `no server '${String(contribution.manifest.mcp!['server'])}' stands under mcp.servers`)
  const { server, definition } = found
  const { tool, pin } = contribution.manifest.mcp as { tool: string; pin?: string }
  const { max_argument_bytes = 1_048_576 } = (adapterContext.settings['mcp'] ?? {}) as { max_argument_bytes?: number }
  const seconds = definition.tool_timeout_secs ?? 120
  const running = holdServer(definition, contribution, adapterContext)

  return async (call, context) => {
    const args = argumentsOf(call, contribution.manifest.input ?? {})
    const bytes = Buffer.byteLength(JSON.stringify(args))
    if (bytes > max_argument_bytes) throw problem('VT_INPUT_TOO_LARGE', { size: `${bytes} bytes`, limit: `${max_argument_bytes} bytes` })
    return running.use(context, async ({ client, tools }) => {
      const offered = tools.get(tool)
      if (!offered) throw changed(server, tool, 'is not offered any more')
      if (pin !== undefined && digest(offered) !== pin) throw changed(server, tool, 'is not what it was when it was agreed to')
      return ask(client, tool, args, context, seconds)
    })
  }
}
mcp.expand = expand
export default mcp

/** The properties that the tool declares: properties that compactors add are ours. */
function argumentsOf({ input }: Call, { properties = {} }: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(properties as object, name)))
}

async function ask(client: Connection['client'], tool: string, args: JsonObject, context: Context, seconds: number): Promise<Result> {
  const limits = { signal: context.signal, timeout: seconds * 1000, maxTotalTimeout: seconds * 1000 }
  const onprogress = ({ progress, total, message }: { progress: number; total?: number | undefined; message?: string | undefined }) =>
    context.progress({ done: progress, ...(total !== undefined && { total }), ...(message !== undefined && { text: message }) })
  try {
    return toolResult(await client.callTool({ name: tool, arguments: args }, { ...limits, onprogress }), tool)
  } catch (error) {
    if (context.signal.aborted) throw problem('VT_CALL_ABORTED')
    const { code, message } = error as { code?: unknown; message: string }
    if (code === 'REQUEST_TIMEOUT') throw problem('VT_CALL_TIMEOUT', { slot: context.slot.slot, seconds })
    if (typeof code === 'number') throw toolError(message)
    throw error
  }
}
