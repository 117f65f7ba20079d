import type { Mode, Settings } from '../base/index.js'

/** From the strictest to the loosest. */
export const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']

/** The mode never exceeds `policy.max_mode`; full-auto counts only where the caller requested it or the user's own settings enable it. */
export function permittedMode({ policy: { mode, max_mode }, automation }: Settings, asked: Mode | undefined): Mode {
  const { enabled } = (automation as { full_auto: { enabled: boolean } }).full_auto
  const acknowledged = mode !== 'full-auto' || asked === 'full-auto' || enabled ? mode : 'auto'
  return modes[Math.max(0, Math.min(modes.indexOf(acknowledged), modes.indexOf(max_mode)))]!
}

/** The mode of one call: that of the kernel, or the one it asks for as far as that is permitted there. */
export function modeOfCall(settings: Settings, asked: Mode | undefined): Mode {
  const { mode } = settings.policy
  return asked === undefined ? mode : permittedMode({ ...settings, policy: { ...settings.policy, mode: asked } }, mode)
}
