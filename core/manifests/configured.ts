import { dirname, isAbsolute } from 'node:path'
import type { Contribution, JsonObject, Settings } from '../shapes/index.js'
import type { Origin } from '../config/index.js'

/** Of an adapter: the map in the settings whose entries count as manifests with its key, `{ [key]: { [as]: entry } }`. */
export interface ConfiguredEntries {
  /** The block of the settings; with `enabled: false` in it nothing counts. */
  settings: string
  /** The property of the block that holds the map. */
  entries: string
  as: string
}

/** What adapters find in the settings, each entry as if a manifest brought it. An adapter of a workspace finds nothing. */
export function configuredContributions(
  adapters: readonly Contribution[],
  loaded: { settings: Settings; readonly origins: readonly Origin[] },
  workspace: string,
): Contribution[] {
  const blocks: JsonObject = loaded.settings
  return adapters.flatMap(({ layer, manifest }) => {
    const place = manifest['configured'] as ConfiguredEntries | undefined
    if (!place || layer === 'workspace') return []
    const { enabled = true, [place.entries]: entries = {} } = (blocks[place.settings] ?? {}) as JsonObject
    // Of an entry that a workspace brings unasked only its name is left, and that is told where it was withheld.
    const known = Object.entries(entries as Record<string, JsonObject>).filter(
      ([, entry]) => enabled && Object.keys(entry).length > 0,
    )
    const path = `${place.settings}.${place.entries}`
    return known.map(([name, entry]) =>
      contributionOf(name, { [manifest.key!]: { [place.as]: entry } }, `${path}.${name}`, loaded.origins, workspace),
    )
  })
}

function contributionOf(
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
    said: true,
  }
}
