import { ok, type Result } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { valueLimit, valueText } from '../../lib/base/index.js'
import { createApprover, createAsker, isInteractive, say } from '../../lib/terminal/index.js'
import {
  clock,
  random,
  seeded,
  textOfResult,
  traitsOfCall,
  type AgentProviders,
  type Component,
} from '../base/index.js'
import { persist, progress } from '../events/index.js'
import { createMemoryStore, openStore } from '../session/index.js'

/** What components are made from. */
export interface ComponentContext {
  kernel: Kernel
  env: AgentProviders['env']
  /** The terminal, where there is one. */
  io?: Io
  /** Nothing of what happens is shown there. */
  quiet?: boolean
}
type Makers<C extends Component> = Readonly<Record<string, (context: ComponentContext) => AgentProviders[C]>>

/** Every entry that comes with the program, by component and name. */
export const builtinComponents: { readonly [C in Component]: Makers<C> } = {
  approval: {
    prompt: ({ io, kernel }) =>
      io && isInteractive(io)
        ? { approve: createApprover(io), ask: createAsker(io) }
        : defers(kernel)
          ? { deferred: true }
          : {},
    file: () => ({ deferred: true }),
    // Without anybody to ask, the kernel refuses what policies ask about and says why.
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
        rehearsed(await (prepared ? kernel.explain(prepared, options) : kernel.explain(name, input, options))),
    }),
  },
  metadata: {
    manifest: ({ kernel }) => ({
      describe: async (name, input, prepared) => traitsOfCall(prepared ?? (await kernel.resolve(name, input))),
    }),
  },
  session: {
    disk: () => ({ kept: true, open: openStore }),
    memory: () => ({ kept: false, open: async () => createMemoryStore() }),
  },
  output_map: {
    concise: () => ({ toModel: textOfResult }),
    detailed: () => ({
      toModel: (result) =>
        textOfResult(
          result.ok
            ? {
                ...result,
                text: valueText(result.output, result.text === undefined ? Infinity : valueLimit(result.text)),
              }
            : result,
        ),
    }),
  },
  logging: {
    journal: () => ({ open: persist }),
    journal_and_stderr: ({ io, quiet }) => ({
      open(store, agent) {
        const [keep, show] = [persist(store), io && !quiet ? progress(io, agent) : () => {}]
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
      next: (attempt, { wait_ms }, chance) =>
        wait_ms ?? Math.round(chance.next() * Math.min(30_000, 500 * 2 ** attempt)),
    }),
    none: () => ({ next: () => 'stop' }),
  },
  clock: { system: () => clock },
  random: { system: () => random, seeded: () => seeded() },
  fetch: { system: () => (input, init) => globalThis.fetch(input, init) },
  notify: {
    bell: ({ io }) => ({ show: () => void (io?.stderr.isTTY && (io.screen ?? io.stderr).write('\u0007')) }),
    stderr: ({ io }) => ({ show: (title, text) => void (io && say(io, 'info', `${title}: ${text}`)) }),
    none: () => ({ show: () => {} }),
  },
}

/** Are questions kept for somebody who comes later, where nobody is there now? */
export const defers = ({ settings }: Kernel): boolean => settings.agent.harness.async_approval.enabled

/** The result of a rehearsal: says what the call would come to. */
function rehearsed(would: Awaited<ReturnType<Kernel['explain']>>): Result {
  const { verdict, reason, call } = would
  return ok(
    { ...would },
    {
      text: `Not done, this is a rehearsal: ${call ? `${call.slot} ${JSON.stringify(call.input)}` : 'the call'} would ${words[verdict]}.${reason ? ` ${reason}` : ''}`,
    },
  )
}
const words = { run: 'run', ask: 'need an approval', deny: 'be denied', refused: 'be refused' }
