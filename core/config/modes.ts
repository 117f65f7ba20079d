import type { Mode, Settings } from '../shapes/index.js'

/** From the strictest to the loosest. */
export const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']

/** The mode never exceeds `policy.max_mode`; full-auto counts only where the caller requested it or the user's own settings enable it. */
export const permittedMode = (settings: Settings, asked: Mode | undefined): Mode =>
  lowered(settings, settings.policy.mode, asked)

function lowered({ policy: { max_mode }, automation }: Settings, mode: Mode, agreed: Mode | undefined): Mode {
  const acknowledged = mode !== 'full-auto' || agreed === 'full-auto' || automation.full_auto.enabled ? mode : 'auto'
  return modes[Math.max(0, Math.min(modes.indexOf(acknowledged), modes.indexOf(max_mode)))]!
}

/** The stricter of two modes. */
export const stricterMode = (a: Mode, b: Mode): Mode => (modes.indexOf(a) < modes.indexOf(b) ? a : b)

/** The mode of one call: that of the kernel, or the one it asks for as far as that is permitted there. */
export const modeOfCall = (settings: Settings, asked: Mode | undefined): Mode =>
  asked === undefined ? settings.policy.mode : lowered(settings, asked, settings.policy.mode)
