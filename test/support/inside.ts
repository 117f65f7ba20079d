import { createAgent, type AgentOptions, type Outcome, type ThreadEvent } from 'vtcode/agent'
import { bootKernel, type Boot, type Booted } from 'vtcode/test'
import { hold } from './held.js'
import { settingsFor, startPeer, type Peer } from './peer.js'

/** A kernel, a peer and everything an agent on them says, in this process and on a clock of its own. */
export interface Scene extends AsyncDisposable {
  readonly peer: Peer
  readonly booted: Booted
  readonly events: ThreadEvent[]
  /** Milliseconds that were waited for. */
  readonly waits: number[]
  run(task?: string, options?: AgentOptions, signal?: AbortSignal): Promise<Outcome>
}
async function open(
  script: Parameters<typeof startPeer>[0],
  extra: Parameters<typeof settingsFor>[1] & { boot?: Boot; url?: string } = {},
): Promise<Scene> {
  const peer = await startPeer(script)
  const settings = settingsFor({ url: extra.url ?? peer.url }, extra) as Record<string, unknown>
  const booted = await bootKernel({ ...extra.boot, config: { ...settings, ...extra.boot?.config } as never })
  const events: ThreadEvent[] = []
  const waits: number[] = []
  let skipped = 0
  const clock = {
    now: () => Date.now() + skipped,
    sleep: async (ms: number) => {
      waits.push(ms)
      skipped += ms
    },
  }
  return {
    peer,
    booted,
    events,
    waits,
    async run(task = 'go', options = {}, signal) {
      const agent = await createAgent(booted.kernel, {
        env: { PEER_API_KEY: 'key-of-the-peer-0123' },
        onEvent: (event) => void events.push(event),
        ...options,
        providers: { clock, ...options.providers },
      })
      try {
        return await agent.run(task, signal ? { signal } : {})
      } finally {
        await agent.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await booted[Symbol.asyncDispose]()
      await peer[Symbol.asyncDispose]()
    },
  }
}
export const items = (events: readonly any[], type: string): any[] =>
  events.filter((event) => event.type === 'item.completed' && event.item.type === type).map(({ item }) => item)
export const harness = (events: readonly any[], name: string): any[] =>
  items(events, 'harness').filter(({ event }) => event === name)

export { hold }
export const scene = async (...args: Parameters<typeof open>): Promise<Scene> => hold(await open(...args))
