import { ok, type Result } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { valueText } from '../../lib/base/index.js'
import { createApprover, createAsker, isInteractive, say } from '../../lib/terminal/index.js'
import {
  clock,
  random,
  createSeededRandom,
  toModelText,
  describeTraits,
  type AgentProviders,
  type Component,
} from '../base/index.js'
import { createJournalSink, createProgressSink } from '../events/index.js'
import { createMemoryStore, openStore } from '../session/index.js'

/** The inputs of component factories. */
export interface ComponentContext {
  kernel: Kernel
  env: AgentProviders['env']
  /** The terminal, if there is one. */
  io?: Io
  /** Prints no progress on the terminal. */
  quiet?: boolean
}
/** Attempts that wait exactly as long as the server says; later ones wait longer. */
const MAX_NAMED_WAITS = 5

type Factories<C extends Component> = Readonly<Record<string, (context: ComponentContext) => AgentProviders[C]>>

/** The built-in components, by component and name. */
export const builtinComponents: { readonly [C in Component]: Factories<C> } = {
  approval: {
    prompt: ({ io, kernel }) =>
      io && isInteractive(io)
        ? { approve: createApprover(io), ask: createAsker(io) }
        : hasDeferredApproval(kernel)
          ? { deferred: true }
          : {},
    file: () => ({ deferred: true }),
    // Without an approver, the kernel refuses calls that need approval and gives the reason.
    deny_ask: () => ({}),
    approve_all: () => ({ approve: () => true }),
  },
  sandbox: {
    none: () => ({ choose: () => 'none' }),
    workspace: () => ({ choose: () => 'workspace' }),
    strict: () => ({ choose: () => 'strict' }),
  },
  execute: {
    kernel: ({ kernel }) => ({
      run: (name, input, options, prepared) =>
        prepared ? kernel.call(prepared, options) : kernel.call(name, input, options),
    }),
    dry_run: ({ kernel }) => ({
      run: async (name, input, options, prepared) =>
        describeRehearsal(await (prepared ? kernel.explain(prepared, options) : kernel.explain(name, input, options))),
    }),
  },
  metadata: {
    manifest: ({ kernel }) => ({
      describe: async (name, input, prepared) => describeTraits(prepared ?? (await kernel.resolve(name, input))),
    }),
  },
  session: {
    disk: () => ({ kept: true, open: openStore }),
    memory: () => ({ kept: false, open: async () => createMemoryStore() }),
  },
  output_map: {
    concise: () => ({ toModel: toModelText }),
    detailed: () => ({
      toModel: (result) => toModelText(result.ok ? { ...result, text: valueText(result.output, result.text) } : result),
    }),
  },
  logging: {
    journal: () => ({ open: createJournalSink }),
    journal_and_stderr: ({ io, quiet }) => ({
      open(store, agent) {
        const [keep, show] = [createJournalSink(store), io && !quiet ? createProgressSink(io, agent) : () => {}]
        return async (event) => {
          await keep(event)
          await show(event)
        }
      },
    }),
    silent: () => ({ open: () => () => {} }),
  },
  cache: {
    none: () => ({ get: () => undefined, put: () => {} }),
  },
  retry: {
    backoff: () => ({
      // A wait that is worth more time grows to ten minutes, also where a server names a short one again and again.
      next: (attempt, { wait_ms, patience_ms }, chance) =>
        wait_ms !== undefined && (patience_ms === undefined || attempt <= MAX_NAMED_WAITS)
          ? wait_ms
          : patience_ms === undefined
            ? Math.round(chance.next() * Math.min(30_000, 500 * 2 ** attempt))
            : Math.max(wait_ms ?? 0, Math.round((0.5 + chance.next() / 2) * Math.min(600_000, 1000 * 2 ** attempt))),
    }),
    none: () => ({ next: () => 'stop' }),
  },
  clock: { system: () => clock },
  random: { system: () => random, seeded: () => createSeededRandom() },
  fetch: { system: () => (input, init) => globalThis.fetch(input, init) },
  notify: {
    bell: ({ io }) => ({ show: () => void (io?.stderr.isTTY && (io.screen ?? io.stderr).write('\u0007')) }),
    stderr: ({ io }) => ({ show: (title, text) => void (io && say(io, 'info', `${title}: ${text}`)) }),
    none: () => ({ show: () => {} }),
  },
}

/** Returns whether approval requests are saved for a later answer. */
export const hasDeferredApproval = ({ settings }: Kernel): boolean => settings.agent.harness.async_approval.enabled

/** Returns the result of a rehearsal: the verdict of the call. */
function describeRehearsal(would: Awaited<ReturnType<Kernel['explain']>>): Result {
  const { verdict, reason, call } = would
  const subject = call ? `${call.slot} ${JSON.stringify(call.input)}` : 'the call'
  return ok(
    { ...would },
    {
      text: `Not done, this is a rehearsal: ${subject} would ${VERDICT_TEXTS[verdict]}.${reason ? ` ${reason}` : ''}`,
    },
  )
}
const VERDICT_TEXTS = { run: 'run', ask: 'need an approval', deny: 'be denied', refused: 'be refused' }
