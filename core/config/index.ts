export { defaultsOf, merge } from './merge.js'
export { withoutLiterals } from './literal_secrets.js'
export {
  adoptedFile,
  defaults,
  defineConfig,
  loadSettings,
  settingsLocations,
  validateConfigFile,
  type LoadedSettings,
  type SettingsOptions,
} from './settings.js'
export type { Config } from '../shapes/index.js'
export { homeOf } from '../system/index.js'
export { findRoot } from './root.js'
export { surrounded } from './surrounded.js'
export type { SettingsSource } from './source.js'
export type { Origin } from './types.js'
export { builtinModes, settingsFor, type VerbModes } from './verbs.js'
export { modeOfCall, modes, permittedMode, stricterMode } from './modes.js'
export { tightens } from './workspace_rules.js'
