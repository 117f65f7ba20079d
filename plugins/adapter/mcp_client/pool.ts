import type { Contribution, AdapterContext } from '../../../core/index.js'
import { KeptServer } from '../../lib/state/index.js'
import { keyOf, type Definition } from './definition.js'
import { Server } from './server.js'

const running = new Map<string, { server: Server; holders: number }>()

/** What is known of a server while it is not running. */
export const keptServer = (name: string, definition: Definition, contribution: Contribution, adapterContext: AdapterContext): KeptServer =>
  KeptServer.of(adapterContext.home, name, keyOf(definition, contribution, adapterContext))

/** The running server of a definition, shared by all generations that use it; the next generation takes over an equal one. It ends with its last user. */
export function holdServer(name: string, definition: Definition, contribution: Contribution, adapterContext: AdapterContext): Server {
  const key = `${name} ${keyOf(definition, contribution, adapterContext)}`
  const held = running.get(key) ?? { server: new Server(), holders: 0 }
  held.holders++
  running.set(key, held)
  held.server.setDefinition({ definition, contribution, adapterContext, kept: keptServer(name, definition, contribution, adapterContext) })
  adapterContext.onEnd(async () => {
    if (--held.holders > 0) return
    running.delete(key)
    await held.server.end()
  })
  return held.server
}
