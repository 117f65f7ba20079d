import { join } from 'node:path'
import { sha256 } from './seal.js'
import type { Contribution, JsonObject, Manifest, Settings } from '../shapes/index.js'

/** Returns the module of a manifest: of an action its handler, of an alias `(result, input) => result`. */
export const findModulePath = ({ module, alias }: Manifest): string | undefined =>
  module ?? (alias?.['module'] as string | undefined)

/** Blocks without keys, headers, addresses and paths of the user. */
const PUBLIC_BLOCKS = new Set(['output', 'tools', 'context', 'checkpoints', 'sessions', 'policy'])

/**
 * Lists the blocks of the settings that a contribution gets: those that its manifest names; for plugins of others only
 * the harmless ones.
 */
export const listGrantedBlocks = ({ manifest, layer }: Pick<Contribution, 'manifest' | 'layer'>): string[] =>
  (manifest.settings ?? []).filter((name) => layer === 'builtin' || PUBLIC_BLOCKS.has(name))

/** Returns the blocks of the settings that a contribution gets. Contract: reads no other block. */
export const pickSettings = (settings: Settings, contribution: Contribution): Settings =>
  Object.fromEntries(
    listGrantedBlocks(contribution).map((name) => [name, settings[name as keyof Settings]]),
  ) as unknown as Settings

/**
 * Returns the options of a contribution: its defaults, its entry in `manifests`, its plugin's options, its own; the
 * last one wins.
 */
export function resolveOptions(
  { plugins: { settings: own } }: Pick<Settings, 'plugins'>,
  { id, plugin, options, manifest }: Pick<Contribution, 'id' | 'plugin' | 'manifest' | 'options'>,
): JsonObject {
  const declared = Object.entries((manifest.options?.['properties'] ?? {}) as Record<string, { default?: unknown }>)
  const defaults = Object.fromEntries(
    declared.flatMap(([name, schema]) => (schema.default === undefined ? [] : [[name, schema.default]])),
  )
  return { ...defaults, ...options, ...own[plugin]?.options, ...own[id]?.options }
}

/**
 * Returns the data folder of an installed plugin. Instances of a workspace have their own, separate from the user's and
 * from other workspaces'.
 */
export function resolveDataFolder(
  { plugin, layer }: Pick<Contribution, 'plugin' | 'layer'>,
  home: string,
  workspace: string,
): string {
  const instance = sha256(layer === 'workspace' ? workspace : 'user').slice(0, 12)
  return join(home, 'plugin-data', `${plugin}-${instance}`)
}

/**
 * Returns the variables that every program of a plugin gets. Python keeps compiled files in the data folder and uses
 * none from the plugin's files, so those stay as the user agreed to them.
 */
export const createPluginVariables = (root: string, data: string): Record<string, string> => ({
  PLUGIN_ROOT: root,
  PLUGIN_DATA: data,
  PYTHONPYCACHEPREFIX: join(data, 'pycache'),
})
