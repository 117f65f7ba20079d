import { dirname, isAbsolute } from 'node:path'
import type { Contribution, JsonObject, Origin, Settings } from '../../../core/index.js'

/** The MCP servers of the settings, each as if a manifest brought it. */
export function serversOf(loaded: { settings: Settings; readonly origins: readonly Origin[] }, workspace: string): Contribution[] {
  const { enabled = true, servers = {} } = (loaded.settings['mcp'] ?? {}) as { enabled?: boolean; servers?: Record<string, JsonObject> }
  if (!enabled) return []
  // Of a server whose workspace nobody trusts only its name is left, and that is told where it was withheld.
  const known = Object.entries(servers).filter(([, definition]) => Object.keys(definition).length > 0)
  return known.map(([server, definition]) => {
    const origin = loaded.origins.find(({ path }) => path === `mcp.servers.${server}` || path.startsWith(`mcp.servers.${server}.`))
    const layer = origin?.layer ?? 'call'
    const file = origin?.file ?? 'settings'
    const root = isAbsolute(file) ? dirname(file) : workspace
    const manifest = { name: server, mcp: { server: definition } }
    return { id: `${layer}:${server}`, name: server, plugin: layer, kind: 'action', layer, file, root, manifest, said: true }
  })
}
