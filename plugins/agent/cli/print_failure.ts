import type { Io, Kernel } from '../../../core/contract/index.js'
import { say } from '../../lib/terminal/index.js'
import { AgentError, findHint } from '../base/index.js'

/** Prints the failure of a run; returns the exit code: 3 if settings or the environment must change. */
export function printFailure(kernel: Kernel, error: unknown, io: Io): number {
  if (!(error instanceof AgentError)) throw error
  say(io, 'error', `${error.code}: ${error.message}\n  ${error.extra.hint ?? findHint(kernel, error.code)}`)
  return configuration.has(error.code) ? 3 : 1
}

const configuration = new Set([
  'VT_LLM_NO_MODEL',
  'VT_LLM_AUTH',
  'VT_LLM_UNPRICED',
  'VT_CONFIG_INVALID',
  'VT_PROVIDER_PACKAGE',
  'VT_PROVIDER_VERSION',
  'VT_PROVIDER_MODULE',
])
