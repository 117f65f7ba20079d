import { setTimeout as sleep } from 'node:timers/promises'
import type { CallOptions, Kernel, Result } from '../../../core/index.js'
import { AgentError } from './errors.js'

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
export interface Random {
  /** In [0, 1). */
  next(): number
}
/** Contract: `undefined` when nobody can be asked. */
export type Approve = NonNullable<CallOptions['approve']>

/**
 * What depends on where the agent runs: one record, chosen once at the start, frozen and handed down. Nothing below it looks at
 * the environment, the clock or chance.
 */
export type AgentProviders = Readonly<{
  /** Answers an "ask"; without it such a call is refused. */
  approve: Approve | undefined
  /** Puts questions of tools to a person. */
  ask: CallOptions['ask']
  /** Where calls go: the kernel, or nowhere. */
  run: (name: string, input: unknown, options: CallOptions) => Promise<Result>
  /** Where a session is kept. */
  session: 'disk' | 'memory'
  /** Milliseconds before attempt `n` (from 1) at most, when the server says nothing. */
  backoff: (attempt: number) => number
  clock: Clock
  random: Random
  fetch: typeof fetch
  env: Readonly<Record<string, string | undefined>>
}>

const system: Pick<AgentProviders, 'clock' | 'random' | 'fetch' | 'backoff' | 'session' | 'approve' | 'ask'> = {
  clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, { signal }) },
  random: { next: () => Math.random() },
  fetch: (input, init) => globalThis.fetch(input, init),
  backoff: (attempt) => Math.min(30_000, 500 * 2 ** attempt),
  session: 'disk',
  approve: undefined,
  ask: undefined,
}

/** The record for a kernel: what `chosen` does not say is the system's. Throws for a component that does not exist. */
export function dictionary(kernel: Kernel, env: AgentProviders['env'], chosen: Partial<AgentProviders> = {}): AgentProviders {
  const record: AgentProviders = { ...system, run: (name, input, options) => kernel.call(name, input, options), env, ...chosen }
  const known = [...Object.keys(system), 'run', 'env']
  const unknown = Object.keys(record).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new AgentError('VT_CONFIG_INVALID', `There is no component '${unknown}'; known: ${known.sort().join(', ')}.`)
  return Object.freeze(record)
}
