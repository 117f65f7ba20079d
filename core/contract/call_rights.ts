import type { Call, RightsLeft, Settings } from '../shapes/index.js'
import { modeOfCall, stricterMode } from '../config/index.js'
import { rightsOfCall, type Reader, type Registry } from '../registry/index.js'
import type { CallOptions } from './types.js'

/** What a call may do, and whom its texts are for. */
export interface CallRights extends Reader {
  readonly mode: Call['mode']
  only: Call['only']
}

/**
 * The rights that the kernel gives a call, or the call that it is a part of; what it leaves of them itself is told by `narrow`. The audiences
 * of a caller count for its own call: a call that a plugin makes during it has none.
 */
export function callRights(
  settings: Settings,
  { options, outer }: { options: CallOptions; outer?: Call },
  only: readonly RightsLeft[] | undefined,
): CallRights {
  const mode = modeOfCall(settings, options.mode)
  return outer
    ? { mode: stricterMode(outer.mode, mode), only: outer.only }
    : { mode, only, audiences: options.audiences, splitReads: options.splitReads }
}

/** Throws VT_POLICY_ONLY. */
export function narrow(rights: CallRights, registry: Registry, { only }: CallOptions): void {
  if (only === undefined) return
  const left = rightsOfCall(registry, only)
  rights.only = Object.freeze([...(rights.only ?? []), left])
}
