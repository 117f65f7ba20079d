import { constants } from 'node:os'
import { toText } from '../../../core/text/index.js'
import { VtError, type Context, type Contribution, type AdapterContext, type Problem } from '../../../core/index.js'

export const isContext = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'workspace' in value && 'signal' in value

/** Returns the data of a context; the process requests the rest. */
export const toContextData = (
  { plugin, settings, slot, session, ask, conversation, client }: Context,
  { root }: Contribution,
  { workspace }: AdapterContext,
): object => ({
  // A plugin keeps the files with which it was loaded.
  plugin: { ...plugin, root },
  settings,
  slot,
  session: session.id,
  workspace,
  asks: ask !== undefined,
  conversation: conversation !== undefined,
  ...(client && { client: { capabilities: client.capabilities, state: client.state } }),
})

/** An error with a code that a module threw in its process; its text is foreign. */
export class ModuleError extends VtError {}

export function toThrownError(error: unknown): Error {
  const { message, stack, problem } = error as { message: string; stack?: string; problem?: Problem }
  if (problem && typeof problem.code === 'string')
    return new ModuleError({
      ...problem,
      message: toText(problem.message),
      hint: toText(problem.hint ?? ''),
      retryable: problem.retryable === true,
    })
  return Object.assign(new Error(toText(message)), stack ? { stack: toText(stack) } : {})
}

/** Describes how the process ended. A sandbox reports a signal as an exit code, as shells do. */
export function describeEnd(code: number | null, signal: NodeJS.Signals | null): string {
  const [name] = Object.entries(constants.signals).find(([, number]) => code === 128 + number) ?? []
  return (signal ?? name) ? `its process was ended by ${signal ?? name}` : `its process ended with exit code ${code}`
}

export const findErrorLine = (text: string): string => {
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
