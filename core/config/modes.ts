import type { Mode, Settings } from '../shapes/index.js'

/** Modes from the strictest to the loosest. */
export const MODES: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']

/**
 * Returns the permitted mode: at most `policy.max_mode`; full-auto only if the caller requested it or the user's own
 * settings enable it.
 */
export const resolveMode = (settings: Settings, requested: Mode | undefined): Mode =>
  lowerMode(settings, settings.policy.mode, requested)

function lowerMode({ policy: { max_mode }, automation }: Settings, mode: Mode, permitted: Mode | undefined): Mode {
  const allowed = mode !== 'full-auto' || permitted === 'full-auto' || automation.full_auto.enabled ? mode : 'auto'
  return MODES[Math.max(0, Math.min(MODES.indexOf(allowed), MODES.indexOf(max_mode)))]!
}

/** Returns the stricter of two modes. */
export const pickStricterMode = (a: Mode, b: Mode): Mode => (MODES.indexOf(a) < MODES.indexOf(b) ? a : b)

/** Returns the mode of one call: that of the kernel, or the requested one as far as permitted. */
export const resolveCallMode = (settings: Settings, requested: Mode | undefined): Mode =>
  requested === undefined ? settings.policy.mode : lowerMode(settings, requested, settings.policy.mode)
