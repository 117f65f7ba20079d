import { readFileSync } from 'node:fs'
import { report, type Contribution, type Mode } from '../shapes/index.js'
import { programFile } from '../system/index.js'
import { modes } from './modes.js'
import type { LoadedSettings } from './settings.js'

/** The mode that the manifest of a verb declares. */
export interface VerbModes {
  mode?: Mode
  default_mode?: Mode
}
type Load = (modes: VerbModes) => Promise<LoadedSettings>

const looser = (mode: Mode, { settings }: LoadedSettings): boolean =>
  modes.indexOf(mode) > modes.indexOf(settings.policy.mode)

/** The mode of our own manifest of a verb; known before any manifest is read, because settings come first. */
export function builtinModes(verb: string | undefined): VerbModes {
  if (verb === undefined) return {}
  const modes = JSON.parse(readFileSync(programFile('manifests/_verbs.json'), 'utf8')) as Record<string, VerbModes>
  return Object.hasOwn(modes, verb) ? modes[verb]! : {}
}

/**
 * The settings for a verb that a plugin adds. Its `mode` only tightens. Its `default_mode` stands below all settings, and
 * that of a plugin of the workspace only tightens too: a cloned repository does not decide how much is done without a question.
 */
export async function settingsFor(
  { layer, file, manifest: { mode, default_mode } }: Contribution,
  load: Load,
): Promise<LoadedSettings> {
  let loaded = await load({})
  const ignored: [key: string, mode: Mode][] = []
  let below: VerbModes = {}
  if (default_mode !== undefined) {
    if (layer === 'workspace' && looser(default_mode, loaded)) ignored.push(['default_mode', default_mode])
    else loaded = await load((below = { default_mode }))
  }
  if (mode !== undefined) {
    if (looser(mode, loaded)) ignored.push(['mode', mode])
    else loaded = await load({ ...below, mode })
  }
  if (ignored.length === 0) return loaded
  const remarks = ignored.map(([key, value]) =>
    report('VT_CONFIG_LOOSENS', { key, value: JSON.stringify(value) }, [file], 'warning'),
  )
  return { ...loaded, diagnostics: [...loaded.diagnostics, ...remarks] }
}
