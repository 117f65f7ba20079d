import type { Call, Settings } from '../../../core/shapes/index.js'

/** Block `sandbox` of the settings, as far as it concerns commands. */
export type SandboxSettings = Omit<Settings['sandbox'], 'plugins'>

/** Returns the sandbox mode of a command from the settings, the caller, and an approved escape. */
export function resolveSandboxMode(
  usual: SandboxSettings['mode'],
  caller: 'strict' | 'none' | undefined,
  escalated: boolean,
): SandboxSettings['mode'] {
  if (caller === 'strict') return 'required'
  return escalated || (caller === 'none' && usual !== 'required') ? 'off' : usual
}

/** Checks whether a command requests the strict sandbox and settings and caller permit a sandbox. */
export const isStrictRequested = (call: Pick<Call, 'input' | 'caller'>, usual: SandboxSettings['mode']): boolean =>
  call.input.sandbox_permissions === 'sandbox_or_ask' && resolveSandboxMode(usual, call.caller.sandbox, false) !== 'off'

/** Returns the settings of the strict sandbox: no network, and only the workspace is writable. */
export const toStrictSettings = <T extends Pick<SandboxSettings, 'network' | 'writable'>>(settings: T): T => ({
  ...settings,
  network: false,
  writable: [],
})
