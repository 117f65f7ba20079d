import type { Contribution, AdapterContext } from '../../../core/index.js'
import { openKeptServer, hashDefinition, type Definition } from './definition.js'
import { Server } from './server.js'

const running = new Map<string, { server: Server; holders: number }>()

/**
 * Returns the running server of a definition. All generations with an equal definition share it; it ends with the last
 * one.
 */
export function acquireServer(
  name: string,
  definition: Definition,
  contribution: Contribution,
  adapterContext: AdapterContext,
): Server {
  const key = `${name} ${hashDefinition(definition, contribution, adapterContext)}`
  const held = running.get(key) ?? { server: new Server(), holders: 0 }
  held.holders++
  running.set(key, held)
  held.server.setDefinition({
    definition,
    contribution,
    adapterContext,
    kept: openKeptServer(name, definition, contribution, adapterContext),
  })
  adapterContext.onEnd(async () => {
    if (--held.holders > 0) return
    running.delete(key)
    await held.server.end()
  })
  return held.server
}
