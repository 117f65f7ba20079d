import { readFileSync } from 'node:fs'
import { createDiagnostic, type Contribution, type Mode } from '../shapes/index.js'
import { programFile } from '../system/index.js'
import { MODES } from './modes.js'
import type { LoadedSettings } from './settings.js'

/** Mode that the manifest of a verb declares. */
export interface VerbModes {
  mode?: Mode
  default_mode?: Mode
}
type Load = (modes: VerbModes) => Promise<LoadedSettings>

const isLooser = (mode: Mode, { settings }: LoadedSettings): boolean =>
  MODES.indexOf(mode) > MODES.indexOf(settings.policy.mode)

/** Returns the mode of a built-in verb, from a file of the build: settings are loaded before any manifest. */
export function readBuiltinModes(verb: string | undefined): VerbModes {
  if (verb === undefined) return {}
  const modes = JSON.parse(readFileSync(programFile('manifests/_verbs.json'), 'utf8')) as Record<string, VerbModes>
  return Object.hasOwn(modes, verb) ? modes[verb]! : {}
}

/**
 * Loads the settings for a verb of a plugin. Its `mode` only tightens. Its `default_mode` is below all settings; in a
 * plugin of the workspace, it only tightens too: a cloned repository cannot reduce the number of questions.
 */
export async function loadVerbSettings(
  { layer, file, manifest: { mode, default_mode } }: Contribution,
  load: Load,
): Promise<LoadedSettings> {
  let loaded = await load({})
  const ignored: [key: string, mode: Mode][] = []
  let defaults: VerbModes = {}
  if (default_mode !== undefined) {
    if (layer === 'workspace' && isLooser(default_mode, loaded)) ignored.push(['default_mode', default_mode])
    else {
      defaults = { default_mode }
      loaded = await load(defaults)
    }
  }
  if (mode !== undefined) {
    if (isLooser(mode, loaded)) ignored.push(['mode', mode])
    else loaded = await load({ ...defaults, mode })
  }
  if (ignored.length === 0) return loaded
  const diagnostics = ignored.map(([key, value]) =>
    createDiagnostic('VT_CONFIG_LOOSENS', { key, value: JSON.stringify(value) }, [file], 'warning'),
  )
  return { ...loaded, diagnostics: [...loaded.diagnostics, ...diagnostics] }
}
