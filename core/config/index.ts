export { collectDefaults, merge } from './merge.js'
export { redactLiterals } from './literal_secrets.js'
export {
  findAdoptedFile,
  readDefaults,
  defineConfig,
  loadSettings,
  listSettingsLocations,
  validateConfigFile,
  type LoadedSettings,
  type SettingsOptions,
} from './settings.js'
export type { Config } from '../shapes/index.js'
export { resolveHome } from '../system/index.js'
export { findRoot } from './root.js'
export { WORKSPACE_PLACES } from './places.js'
export { PEER_FILES } from './peer_files.js'
export { resolveEnvironment } from './environment.js'
export type { SettingsSource } from './source.js'
export type { Origin } from './types.js'
export { readBuiltinModes, loadVerbSettings, type VerbModes } from './verb_modes.js'
export { resolveCallMode, MODES, resolveMode, pickStricterMode } from './modes.js'
export { isAsStrict } from './workspace_rules.js'
