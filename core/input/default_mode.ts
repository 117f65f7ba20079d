import { toText } from '../text/index.js'
import type { Settings } from '../shapes/index.js'
import { translateInput } from './alias.js'
import { findConstraint } from './constraints.js'
import type { CallTarget } from './resolve.js'

/**
 * Replaces the default mode of an alias by the first allowed mode that it has. The caller named no mode, so the default
 * is not refused.
 */
export function replaceDefaultMode(target: CallTarget, settings: Settings): CallTarget {
  const { alias, slot } = target
  const allowed = alias && findConstraint(settings, slot.info)?.allowed_modes
  if (!allowed || alias.given['mode'] !== undefined) return target
  const { default: usual, enum: modes } = alias.slot.shape.properties['mode'] ?? {}
  if (usual === undefined || allowed.includes(toText(usual)) || !Array.isArray(modes)) return target
  const mode = allowed.find((one) => modes.includes(one))
  if (mode === undefined) return target
  const given = { ...alias.given, mode }
  const { to, input, part, defaults } = translateInput(alias.slot.primary.manifest.alias!, given, false)
  return to === slot.info.slot ? { ...target, raw: input, alias: { slot: alias.slot, part, given, defaults } } : target
}
