import type { Config, Diagnostic, Mode, Origin, Settings } from './types.js'

/** Gives a settings file its types. */
export const defineConfig = (config: Config): Config => config

export interface SettingsOptions {
  workspace: string
  home: string
  env: Record<string, string | undefined>
  config?: Config | string
  mode?: Mode
}

export async function loadSettings({ config, mode }: SettingsOptions): Promise<{ settings: Settings; origins: Origin[]; diagnostics: Diagnostic[] }> {
  const given = (typeof config === 'object' ? config : {}) as Partial<Settings>
  const policy = { max_mode: 'full-auto' as const, ...given.policy, mode: mode ?? given.policy?.mode ?? 'ask' }
  const settings: Settings = { plugins: {}, output: { response_format: 'concise' }, automation: {}, ...given, manifests: given.manifests ?? ['builtin'], use: given.use ?? {}, policy }
  return { settings, origins: [], diagnostics: [] }
}
