import type { Adapter } from '../../core/index.js'
import { expand } from './mcp_tools/expand.js'

/** Turns a manifest with `mcp` into a handler that calls one tool of a server. A start with servers that nobody calls loads no more than what names them. */
const mcp: Adapter = async (contribution, adapterContext) =>
  (await import('./mcp_tools/handler.js')).handlerOf(contribution, adapterContext)
mcp.expand = expand
export default mcp
