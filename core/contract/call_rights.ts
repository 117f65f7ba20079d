import type { Call, RightsScope, Settings } from '../shapes/index.js'
import { resolveCallMode, pickStricterMode } from '../config/index.js'
import { validateCallRights, type Reader, type Registry } from '../registry/index.js'
import type { CallOptions } from './types.js'

/** The rights of a call, and the reader of its texts. */
export interface CallRights extends Reader {
  readonly mode: Call['mode']
  only: Call['only']
}

/**
 * Returns the rights of a call from the kernel, or from the outer call; `narrowRights` reduces them. A nested call has
 * only the audiences that its outer call passes on.
 */
export function createCallRights(
  settings: Settings,
  { options, outer }: { options: CallOptions; outer?: Call },
  only: readonly RightsScope[] | undefined,
): CallRights {
  const mode = resolveCallMode(settings, options.mode)
  return outer
    ? { mode: pickStricterMode(outer.mode, mode), only: outer.only, audiences: options.audiences }
    : { mode, only, audiences: options.audiences, splitReads: options.splitReads }
}

/** Reduces the rights of a call. Throws VT_POLICY_ONLY. */
export function narrowRights(rights: CallRights, registry: Registry, { only }: CallOptions): void {
  if (only === undefined) return
  const left = validateCallRights(registry, only)
  rights.only = Object.freeze([...(rights.only ?? []), left])
}
