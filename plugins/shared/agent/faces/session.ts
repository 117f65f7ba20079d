import type { Io, Kernel } from '../../../../core/index.js'
import { approver } from '../../approver.js'
import { asker } from '../../questions.js'
import { interactive } from '../../terminal.js'
import type { Agent, AgentOptions } from '../index.js'
import { refusal } from './refusal.js'

/** Opens an agent for a verb, closes it whatever happens, and says why where there is none. Returns the exit code. */
export async function withAgent(kernel: Kernel, io: Io, options: AgentOptions, use: (agent: Agent) => Promise<number>): Promise<number> {
  const { createAgent } = await import('../index.js')
  try {
    const agent = await createAgent(kernel, { env: io.env, ...options })
    try {
      return await use(agent)
    } finally {
      await agent.close()
    }
  } catch (error) {
    return refusal(kernel, error, io)
  }
}

/** The person at the terminal, if there is one, answers questions and allows calls. */
export const people = (io: Io): Pick<AgentOptions, 'providers'> => (interactive(io) ? { providers: { approve: approver(io), ask: asker(io) } } : {})

/** What flags that may be missing come to. */
export const given = <T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
