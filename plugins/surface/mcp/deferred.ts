import type { Tool } from '@modelcontextprotocol/server'
import type { Kernel, ToolInfo } from '../../../core/index.js'

/** The one tool through which all others are called. */
const CALL = 'call_tool'

/** What a client shows its model. */
export interface ShownTools {
  tools: ToolInfo[]
  /** How to call what is not shown. */
  more?: Tool
}

/**
 * The list of a server with more tools than a model should read before each step: those that come with the program stay, and a way to
 * call what `unified_search tools` finds. It needs nothing of the client, neither a session nor a list that changes.
 */
export function shelve(kernel: Kernel): ShownTools {
  const own = new Set(kernel.contributions().flatMap(({ kind, layer, slot }) => (kind === 'action' && layer === 'builtin' && slot ? [slot.split('/')[0]!, slot.replace('/', '_')] : [])))
  const all = kernel.tools()
  const tools = all.filter(({ name }) => own.has(name))
  const deferred = all.length - tools.length
  return deferred === 0 ? { tools } : { tools, more: callTool(deferred) }
}

const callTool = (deferred: number): Tool => ({
  name: CALL,
  description: `Calls one of ${deferred} more tools that this server has. Find one by words with the action tools of unified_search; its detail_level full shows the input that a tool takes.`,
  inputSchema: {
    type: 'object',
    required: ['tool'],
    properties: { tool: { type: 'string', description: 'Name of the tool, as found.' }, input: { type: 'object', description: 'Its input.' } },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
})

/** The call that a call of `call_tool` means; nothing when it is none. */
export function unwrapCall(name: string, input: Record<string, unknown>): { name: string; input: unknown } | undefined {
  return name === CALL ? { name: typeof input['tool'] === 'string' ? input['tool'] : '', input: input['input'] ?? {} } : undefined
}
