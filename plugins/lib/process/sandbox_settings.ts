import type { Call, Settings } from '../../../core/shapes/index.js'

/** The block `sandbox` of the settings, as far as commands go. */
export type SandboxSettings = Omit<Settings['sandbox'], 'plugins'>

/** Whether a command has to run in the sandbox, may, or runs outside: by the settings, by whoever calls, and where an escape was agreed to. */
export function confinement(
  usual: SandboxSettings['mode'],
  caller: 'strict' | 'none' | undefined,
  escalated: boolean,
): SandboxSettings['mode'] {
  if (caller === 'strict') return 'required'
  return escalated || (caller === 'none' && usual !== 'required') ? 'off' : usual
}

/** Whether a command asks for the strict sandbox, and the settings and the caller leave it one. */
export const wantsStrict = (call: Pick<Call, 'input' | 'caller'>, usual: SandboxSettings['mode']): boolean =>
  call.input.sandbox_permissions === 'sandbox_or_ask' && confinement(usual, call.caller.sandbox, false) !== 'off'

/** What the strict sandbox leaves of the settings: no network, and the workspace alone to write. */
export const strictly = <T extends Pick<SandboxSettings, 'network' | 'writable'>>(settings: T): T => ({
  ...settings,
  network: false,
  writable: [],
})
