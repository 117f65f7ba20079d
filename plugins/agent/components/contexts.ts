import { AgentError, type Component } from '../base/index.js'

/** Where an agent runs; decides its components. */
export type RunContext = 'interactive' | 'exec' | 'ci' | 'bench' | 'worker'
type Row = Readonly<Record<Component, string>>

const system = {
  execute: 'kernel',
  metadata: 'manifest',
  output_map: 'concise',
  cache: 'none',
  clock: 'system',
  random: 'system',
  fetch: 'system',
}

/** The components of each context, by name. */
export const contextTable: Readonly<Record<RunContext, Row>> = {
  interactive: {
    ...system,
    approval: 'prompt',
    sandbox: 'workspace',
    session: 'disk',
    logging: 'journal',
    retry: 'backoff',
    notify: 'bell',
  },
  exec: {
    ...system,
    approval: 'deny_ask',
    sandbox: 'workspace',
    session: 'disk',
    logging: 'journal_and_stderr',
    retry: 'backoff',
    notify: 'stderr',
  },
  ci: {
    ...system,
    approval: 'deny_ask',
    sandbox: 'strict',
    session: 'disk',
    logging: 'journal_and_stderr',
    retry: 'backoff',
    notify: 'none',
  },
  bench: {
    ...system,
    approval: 'approve_all',
    sandbox: 'strict',
    session: 'memory',
    logging: 'journal',
    retry: 'none',
    random: 'seeded',
    notify: 'none',
  },
  worker: {
    ...system,
    approval: 'deny_ask',
    sandbox: 'strict',
    session: 'disk',
    logging: 'journal',
    retry: 'backoff',
    notify: 'none',
  },
}
export const runContexts = Object.keys(contextTable) as RunContext[]

// Loosest first. The sandbox counts before the approval: what runs confined may be agreed to unseen, and `bench` is refused without one that holds.
const strictness = [
  ['sandbox', ['none', 'workspace', 'strict']],
  ['approval', ['approve_all', 'prompt', 'file', 'deny_ask']],
] as const

/** The context of a verb: CI makes `exec` stricter, and so may whoever starts it. Throws VT_CONFIG_INVALID for a context that is looser. */
export function runContextOf(
  verb: 'interactive' | 'exec',
  asked: RunContext | undefined,
  env: Readonly<Record<string, string | undefined>>,
): RunContext {
  const own = verb === 'exec' && /^(true|1)$/.test(env['CI'] ?? '') ? 'ci' : verb
  if (asked === undefined) return own
  for (const [component, order] of strictness) {
    const [before, after] = [contextTable[own][component], contextTable[asked][component]]
    const rank = (name: string): number => (order as readonly string[]).indexOf(name)
    if (rank(after) > rank(before)) break
    if (rank(after) === rank(before)) continue
    throw new AgentError(
      'VT_CONFIG_INVALID',
      `--context ${asked} is looser than ${own}, which holds here: its ${component} is ${after}, not ${before}.`,
      {
        hint: `A context can only be made stricter; agent.providers.${component} in your own settings changes this one entry.`,
      },
    )
  }
  return asked
}
