import { constants } from 'node:os'
import { toText } from '../../../core/text/index.js'
import { VtError, type Context, type Contribution, type AdapterContext, type Problem } from '../../../core/index.js'

export const isContext = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'workspace' in value && 'signal' in value

/** The data of a context; the process requests everything else. */
export const described = (
  { plugin, settings, slot, session, ask, conversation, client }: Context,
  { root }: Contribution,
  { workspace }: AdapterContext,
): object => ({
  // Its files are those that it was loaded with.
  plugin: { ...plugin, root },
  settings,
  slot,
  session: session.id,
  workspace,
  asks: ask !== undefined,
  conversation: conversation !== undefined,
  ...(client && { client: { capabilities: client.capabilities, state: client.state } }),
})

/** An error with a code that a module threw in its process: its words, not ours. */
export class ThrownThere extends VtError {}

export function thrown(error: unknown): Error {
  const { message, stack, problem } = error as { message: string; stack?: string; problem?: Problem }
  if (problem && typeof problem.code === 'string')
    return new ThrownThere({
      ...problem,
      message: toText(problem.message),
      hint: toText(problem.hint ?? ''),
      retryable: problem.retryable === true,
    })
  return Object.assign(new Error(toText(message)), stack ? { stack: toText(stack) } : {})
}

/** A sandbox reports the signal that ended the plugin as an exit code, as shells do. */
export function endOf(code: number | null, signal: NodeJS.Signals | null): string {
  const [name] = Object.entries(constants.signals).find(([, number]) => code === 128 + number) ?? []
  return (signal ?? name) ? `its process was ended by ${signal ?? name}` : `its process ended with exit code ${code}`
}

export const lastLine = (text: string): string => {
  const line = text
    .trim()
    .split('\n')
    .filter((one) => /^\s*(?:\w*Error|Uncaught|FATAL|\[)/.test(one))
    .at(0)
  return line ? `: ${line.trim().slice(0, 200)}` : ''
}

export interface LoadedModule {
  file: string
  complete: boolean
}
