import type { Adapter } from '../../core/index.js'
import { expand } from './mcp_tools/expand.js'

/**
 * Turns a manifest with `mcp` into a handler that calls one tool of a server. A start loads only the list of names
 * until a tool is called.
 */
const mcp: Adapter = async (contribution, adapterContext) =>
  (await import('./mcp_tools/handler.js')).createHandler(contribution, adapterContext)
mcp.expand = expand
export default mcp
