import type { Contribution, AdapterContext } from '../../../core/index.js'
import { keptServer, keyOf, type Definition } from './definition.js'
import { Server } from './server.js'

const running = new Map<string, { server: Server; holders: number }>()

/** The running server of a definition, shared by all generations that use it; the next generation takes over an equal one. It ends with its last user. */
export function holdServer(
  name: string,
  definition: Definition,
  contribution: Contribution,
  adapterContext: AdapterContext,
): Server {
  const key = `${name} ${keyOf(definition, contribution, adapterContext)}`
  const held = running.get(key) ?? { server: new Server(), holders: 0 }
  held.holders++
  running.set(key, held)
  held.server.setDefinition({
    definition,
    contribution,
    adapterContext,
    kept: keptServer(name, definition, contribution, adapterContext),
  })
  adapterContext.onEnd(async () => {
    if (--held.holders > 0) return
    running.delete(key)
    await held.server.end()
  })
  return held.server
}
