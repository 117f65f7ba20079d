import hooks, { AsyncLocalStorage } from 'node:async_hooks'
import type { Server } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { LLMock } from '@copilotkit/aimock'

/** The storages that were made last. */
const storages: AsyncLocalStorage<unknown>[] = []
class RecordedStorage<T> extends AsyncLocalStorage<T> {
  constructor() {
    super()
    storages.push(this)
  }
}
// Newer versions of Node have a getter there.
Object.defineProperty(hooks, 'AsyncLocalStorage', {
  value: RecordedStorage,
  configurable: true,
  enumerable: true,
  writable: true,
})
syncBuiltinESMExports()

/**
 * Starts a server that plays one of models. Each has a storage of its own that Node carries through every promise of this process, also when
 * the server is stopped: `stop` disables it, else the tests of a file become slower with each server. It also closes the connections: one
 * whose client gave up an answer would stay open for seconds.
 */
export async function startMock(): Promise<{ mock: LLMock; stop(): Promise<void> }> {
  const mock = new LLMock({ port: 0 })
  storages.length = 0
  const starting = mock.start()
  const own = storages.splice(0)
  await starting
  const stop = async (): Promise<void> => {
    const { server } = (mock as unknown as { serverInstance: { server: Server } }).serverInstance
    server.closeAllConnections()
    await mock.stop()
    for (const storage of own) storage.disable()
  }
  return { mock, stop }
}
