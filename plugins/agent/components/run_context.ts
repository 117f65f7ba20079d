import { AgentError, type Component } from '../base/index.js'

/** The kind of environment of a run; it decides the default components. */
export type RunContext = 'interactive' | 'exec' | 'ci' | 'bench' | 'worker'
type Row = Readonly<Record<Component, string>>

const SYSTEM_COMPONENTS = {
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
    ...SYSTEM_COMPONENTS,
    approval: 'prompt',
    sandbox: 'workspace',
    session: 'disk',
    logging: 'journal',
    retry: 'backoff',
    notify: 'bell',
  },
  exec: {
    ...SYSTEM_COMPONENTS,
    approval: 'deny_ask',
    sandbox: 'workspace',
    session: 'disk',
    logging: 'journal_and_stderr',
    retry: 'backoff',
    notify: 'stderr',
  },
  ci: {
    ...SYSTEM_COMPONENTS,
    approval: 'deny_ask',
    sandbox: 'strict',
    session: 'disk',
    logging: 'journal_and_stderr',
    retry: 'backoff',
    notify: 'none',
  },
  bench: {
    ...SYSTEM_COMPONENTS,
    approval: 'approve_all',
    sandbox: 'strict',
    session: 'memory',
    logging: 'journal',
    retry: 'none',
    random: 'seeded',
    notify: 'none',
  },
  worker: {
    ...SYSTEM_COMPONENTS,
    approval: 'deny_ask',
    sandbox: 'strict',
    session: 'disk',
    logging: 'journal',
    retry: 'backoff',
    notify: 'none',
  },
}
export const runContexts = Object.keys(contextTable) as RunContext[]

// Loosest first. The sandbox counts more than the approval: sandboxed commands may run unseen, and `bench` requires a
// working sandbox.
const STRICTNESS = [
  ['sandbox', ['none', 'workspace', 'strict']],
  ['approval', ['approve_all', 'prompt', 'file', 'deny_ask']],
] as const

/**
 * Resolves the run context of a command: CI or the caller can make it stricter. Throws VT_CONFIG_INVALID for a looser
 * context.
 */
export function resolveRunContext(
  verb: 'interactive' | 'exec',
  requested: RunContext | undefined,
  env: Readonly<Record<string, string | undefined>>,
): RunContext {
  const own = verb === 'exec' && /^(true|1)$/.test(env['CI'] ?? '') ? 'ci' : verb
  if (requested === undefined) return own
  for (const [component, order] of STRICTNESS) {
    const [before, after] = [contextTable[own][component], contextTable[requested][component]]
    const rank = (name: string): number => (order as readonly string[]).indexOf(name)
    if (rank(after) > rank(before)) break
    if (rank(after) === rank(before)) continue
    throw new AgentError(
      'VT_CONFIG_INVALID',
      `--context ${requested} is looser than the default ${own}: its ${component} is ${after}, not ${before}.`,
      {
        hint:
          'Use a stricter context, or set this component ' + `with agent.providers.${component} in your user settings.`,
      },
    )
  }
  return requested
}
