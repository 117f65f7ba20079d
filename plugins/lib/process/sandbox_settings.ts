import type { Call } from '../../../core/base/index.js'
import type { Context } from '../../../core/kernel/index.js'

/** The block `exec` of the settings. */
export interface ExecSettings {
  enabled: boolean
  default_timeout_secs: number
  max_timeout_secs: number
  max_sessions: number
  idle_secs: number
  max_output_tokens: number
  shell: string
  /** Texts, or where they are found. */
  env: Record<string, unknown>
}
/** The block `sandbox`, as far as commands go. */
export interface SandboxSettings {
  mode: 'required' | 'auto' | 'off'
  network: boolean
  deny_read: string[]
  deny_write: string[]
  writable: string[]
  readable: string[]
}

/** Whether a command has to run in the sandbox, may, or runs outside: by the settings, by whoever calls, and where an escape was agreed to. */
export function confinement(usual: SandboxSettings['mode'], caller: 'strict' | 'none' | undefined, escalated: boolean): SandboxSettings['mode'] {
  if (caller === 'strict') return 'required'
  return escalated || (caller === 'none' && usual !== 'required') ? 'off' : usual
}

/** Whether a command asks for the strict sandbox, and the settings and the caller leave it one. */
export const wantsStrict = (call: Pick<Call, 'input' | 'caller'>, usual: SandboxSettings['mode']): boolean =>
  call.input.sandbox_permissions === 'sandbox_or_ask' && confinement(usual, call.caller.sandbox, false) !== 'off'

/** What the strict sandbox leaves of the settings: no network, and the workspace alone to write. */
export const strictly = <T extends Pick<SandboxSettings, 'network' | 'writable'>>(settings: T): T => ({ ...settings, network: false, writable: [] })

export const execSettings = (context: Context): ExecSettings => context.settings.exec as ExecSettings
export const sandboxSettings = (context: Context): SandboxSettings => context.settings.sandbox as SandboxSettings
