import { Option, type Command } from 'commander'
import type { Io, Kernel } from '../../../../core/index.js'
import type { Agent, AgentOptions } from '../index.js'
import { placeOf, places, type Place } from '../dictionary/table.js'
import { refusal } from './refusal.js'

/** What a verb says of where it runs: whether somebody sits in front of it, and the context that was asked for. */
export interface Seat {
  verb: 'interactive' | 'exec'
  asked?: Place
}

/** Opens an agent for a verb, closes it whatever happens, and says why where there is none. Returns the exit code. */
export async function withAgent(kernel: Kernel, io: Io, { verb, asked }: Seat, options: AgentOptions, use: (agent: Agent) => Promise<number>): Promise<number> {
  const { createAgent } = await import('../index.js')
  try {
    const agent = await createAgent(kernel, { env: io.env, io, context: placeOf(verb, asked, io.env), ...options })
    try {
      return await use(agent)
    } finally {
      await agent.close()
    }
  } catch (error) {
    return refusal(kernel, error, io)
  }
}

/** What flags that may be missing come to. */
export const given = <T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }

/** The flag that makes a verb stricter than it is. */
export const withContext = (command: Command): Command =>
  command.addOption(new Option('--context <context>', 'behave as elsewhere, where that is stricter').choices(places))
