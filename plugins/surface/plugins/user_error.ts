import { VtError } from '../../../core/index.js'
import { networkFailure, toHost } from '../../lib/net/index.js'

/** The reason why a plugin was not installed, changed or removed; a sentence without its full stop. */
export class UserError extends Error {}

/** Converts an error of a web request to one for a person. */
export function toUserError(error: unknown, address: string): UserError {
  if (error instanceof UserError) return error
  const host = URL.canParse(address) ? toHost(new URL(address)) : address
  const known = error instanceof VtError ? error : networkFailure(error, host)
  return new UserError(known.message.replace(/\.$/, ''))
}
