import { toText } from '../../../core/text/index.js'
import { renderPlainText } from '../../../core/input/index.js'
import type { Kernel } from '../../../core/contract/index.js'

/** The failure of a run. The message quotes the value; without a hint, the hint of the code applies. */
export class AgentError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly extra: { hint?: string; details?: Record<string, unknown> } = {},
  ) {
    super(message)
    this.name = code
  }
}

/** Returns the hint of an error code from the manifests; empty if there is none. */
export function findHint(kernel: Kernel, code: string): string {
  for (const { errors } of kernel.inspection.contributions())
    if (errors?.[code]?.hint) return renderPlainText(errors[code].hint)
  return ''
}

export const toErrorMessage = (error: unknown): string => (error instanceof Error ? error.message : toText(error))
