import { dirname, isAbsolute } from 'node:path'
import type { Contribution, JsonObject, Settings } from '../shapes/index.js'
import type { Origin } from '../config/index.js'

/** Declares, for an adapter, the map in the settings whose entries become manifests `{ [key]: { [as]: entry } }`. */
export interface ConfiguredEntries {
  /** The block of the settings; `enabled: false` in it disables the map. */
  settings: string
  /** The property of the block that holds the map. */
  entries: string
  as: string
}

/** Returns the entries of the settings that adapters turn into manifests. An adapter of a workspace gets none. */
export function findConfiguredContributions(
  adapters: readonly Contribution[],
  loaded: { settings: Settings; readonly origins: readonly Origin[] },
  workspace: string,
): Contribution[] {
  const blocks: JsonObject = loaded.settings
  return adapters.flatMap(({ layer, manifest }) => {
    const place = manifest['configured'] as ConfiguredEntries | undefined
    if (!place || layer === 'workspace') return []
    const { enabled = true, [place.entries]: entries = {} } = (blocks[place.settings] ?? {}) as JsonObject
    // A withheld entry of a workspace is empty except for its name, and was reported where it was withheld.
    const known = Object.entries(entries as Record<string, JsonObject>).filter(
      ([, entry]) => enabled && Object.keys(entry).length > 0,
    )
    const path = `${place.settings}.${place.entries}`
    return known.map(([name, entry]) =>
      toContribution(name, { [manifest.key!]: { [place.as]: entry } }, `${path}.${name}`, loaded.origins, workspace),
    )
  })
}

function toContribution(
  name: string,
  data: JsonObject,
  place: string,
  origins: readonly Origin[],
  workspace: string,
): Contribution {
  const origin = origins.find(({ path }) => path === place || path.startsWith(`${place}.`))
  const layer = origin?.layer ?? 'call'
  const file = origin?.file ?? 'settings'
  const root = isAbsolute(file) ? dirname(file) : workspace
  return {
    id: `${layer}:${name}`,
    name,
    plugin: layer,
    kind: 'action',
    layer,
    file,
    root,
    manifest: { name, ...data },
    fromSettings: true,
  }
}
