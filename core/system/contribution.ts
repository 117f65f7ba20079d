import { join } from 'node:path'
import { sha256 } from './seal.js'
import type { Contribution, JsonObject, Manifest, Settings } from '../shapes/index.js'

/** The module of a manifest: of an action its handler; of an alias `(result, input) => result`, for what a template cannot say. */
export const moduleOf = ({ module, alias }: Manifest): string | undefined =>
  module ?? (alias?.['module'] as string | undefined)

/** Blocks without keys, headers, addresses and paths of the user. */
const harmless = new Set(['output', 'tools', 'context', 'checkpoints', 'sessions', 'policy'])

/** The blocks of the settings that a manifest is given: those it names, of a stranger the harmless ones among them. */
export const grantedBlocks = ({ manifest, layer }: Pick<Contribution, 'manifest' | 'layer'>): string[] =>
  (manifest.settings ?? []).filter((name) => layer === 'builtin' || harmless.has(name))

/** Returns the blocks of the settings that a contribution is given. Contract: it reads no other. */
export const blocksOf = (settings: Settings, contribution: Contribution): Settings =>
  Object.fromEntries(
    grantedBlocks(contribution).map((name) => [name, settings[name as keyof Settings]]),
  ) as unknown as Settings

/** The user's settings for a contribution: its defaults, its entry in `manifests`, its plugin's, its own; the last one wins. */
export function optionsOf(
  { plugins: { settings: own } }: Pick<Settings, 'plugins'>,
  { id, plugin, options, manifest }: Pick<Contribution, 'id' | 'plugin' | 'manifest' | 'options'>,
): JsonObject {
  const declared = Object.entries((manifest.options?.['properties'] ?? {}) as Record<string, { default?: unknown }>)
  const defaults = Object.fromEntries(
    declared.flatMap(([name, schema]) => (schema.default === undefined ? [] : [[name, schema.default]])),
  )
  return { ...defaults, ...options, ...own[plugin]?.options, ...own[id]?.options }
}

/** Each installed instance of a plugin has a data folder of its own: instances of a workspace are apart from the user's and from other workspaces'. */
export function dataFolder(
  { plugin, layer }: Pick<Contribution, 'plugin' | 'layer'>,
  home: string,
  workspace: string,
): string {
  const instance = sha256(layer === 'workspace' ? workspace : 'user').slice(0, 12)
  return join(home, 'plugin-data', `${plugin}-${instance}`)
}

/**
 * What every program of a plugin finds in its environment. Python keeps what it compiles in the data folder and uses nothing compiled that lies
 * among the plugin's files, so those stay as they were agreed to.
 */
export const pluginVariables = (root: string, data: string): Record<string, string> => ({
  PLUGIN_ROOT: root,
  PLUGIN_DATA: data,
  PYTHONPYCACHEPREFIX: join(data, 'pycache'),
})
