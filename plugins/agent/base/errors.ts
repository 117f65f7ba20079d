import { toText } from '../../../core/text/index.js'
import { plainly } from '../../../core/input/index.js'
import type { Kernel } from '../../../core/contract/index.js'

/** What a run fails with; message quotes the value, the hint is that of the code unless a better one is known. */
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

/** What to do about a code; the manifests have it. */
export function hintOf(kernel: Kernel, code: string): string {
  for (const { errors } of kernel.inspection.contributions())
    if (errors?.[code]?.hint) return plainly(errors[code].hint)
  return ''
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : toText(error))
