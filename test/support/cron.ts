import { createAgent } from 'vtcode/agent'
import { scene } from './inside.js'
import { call, type Answer } from './peer.js'

export const minute = 60_000
const begin = Date.UTC(2026, 5, 1, 12)
export const cron = (action: string, input: object = {}): Answer => ({
  toolCalls: [call('cron', { action, ...input })],
})

/** Runs a conversation in which a model makes these calls, one a step. Returns the answers and the inputs of the model. */
export async function talk(
  steps: Answer[],
  {
    surface = 'chat',
    env = {},
    resume,
  }: {
    surface?: string
    env?: object
    resume?: (agent: Awaited<ReturnType<typeof createAgent>>, pass: (ms: number) => void) => Promise<void>
  } = {},
) {
  const s = await scene([...steps, { content: 'Done.' }, ...Array.from({ length: 5 }, () => ({ content: 'ok' }))])
  const time = { skipped: 0 }
  const clock = { now: () => begin + time.skipped, sleep: async (ms: number) => void (time.skipped += ms) }
  const agent = await createAgent(s.booted.kernel, {
    env: { PEER_API_KEY: 'key-of-the-peer-0123', ...env },
    surface,
    onEvent: (event) => void s.events.push(event),
    providers: { clock },
  })
  await agent.run('go')
  await resume?.(agent, (ms) => void (time.skipped += ms))
  const tasks: readonly { id: string }[] = agent.tasks.list()
  await agent.close()
  const outputs = s.events.flatMap((event: any) =>
    event.type === 'item.completed' && event.item.type === 'tool_output' ? [event.item.output as string] : [],
  )
  const tools = s.peer.bodies[0].tools.map(({ function: { name } }: any) => name as string)
  const inputs = s.peer.bodies.map(({ messages }: any) => messages.at(-1).content as string)
  return { outputs, tools, tasks, inputs }
}
