import { nearest, toText } from '../../../core/base/index.js'
import type { AdapterContext, Contribution, Fault } from '../../../core/index.js'
import { definitionOf, keptServer } from './definition.js'

/** What would go wrong in calls of a manifest with `mcp`: its server is not there, or is known and has no such tool. Starts nothing. */
export function mcpFaults(contribution: Contribution, adapterContext: AdapterContext): Fault[] {
  const { server: named, tool } = contribution.manifest.mcp as { server?: unknown; tool?: string }
  const found = definitionOf(contribution, adapterContext)
  if (!found) {
    const { servers = {} } = (adapterContext.settings['mcp'] ?? {}) as { servers?: object }
    const like = nearest(toText(named), Object.keys(servers))
    return [{
      path: ['mcp', 'server'],
      problem: `There is no MCP server '${toText(named)}' under mcp.servers of the settings.`,
      fix: `${like ? `Write '${like}', or say` : 'Say'} in the manifest how it is started: \`server: { command: npx, args: [-y, <package>] }\`.`,
    }]
  }
  const { offers } = keptServer(found.server, found.definition, contribution, adapterContext)
  if (tool === undefined || !offers || offers.tools.some(({ name }) => name === tool)) return []
  const names = offers.tools.map(({ name }) => name)
  const like = nearest(tool, names)
  return [{ path: ['mcp', 'tool'], problem: `The MCP server '${found.server}' has no tool '${tool}'.`, fix: like ? `Write '${like}'.` : `It has: ${names.slice(0, 20).join(', ')}.` }]
}
