import { relative } from 'node:path'
import { problem, type Contribution } from '../shapes/index.js'
import { readBytes } from '../documents/index.js'
import type { TrustItem } from './digest.js'
import { findStarted } from './programs.js'
import { fileHash } from './tree.js'

// A program is started from the workspace itself, perhaps hours after consent was compared, so the files that its words
// name are hashed again.

/** What the user agreed to, by workspace and by the id of a contribution or of a part of a settings file. */
const kept = new Map<string, Map<string, TrustItem>>()

/** Notes that the user agreed to an item, and returns it: its programs may run until their files change. */
export function keepStanding(workspace: string, id: string, item: TrustItem): TrustItem {
  const here = kept.get(workspace) ?? new Map<string, TrustItem>()
  kept.set(workspace, here.set(id, item))
  return item
}

/**
 * Throws VT_PLUGIN_UNTRUSTED where a command names other files, or other bytes, than the user agreed to: a command of a
 * contribution of the workspace, or of the parts of its settings with this key, such as `hooks`. Other layers may run.
 */
export function requireStanding(
  workspace: string,
  { id, layer }: Pick<Contribution, 'id' | 'layer'>,
  key?: string,
): void {
  if (layer !== 'workspace') return
  const here = kept.get(workspace) ?? new Map<string, TrustItem>()
  const own =
    key === undefined && here.has(id)
      ? [id]
      : [...here.keys()].filter((one) => (key === undefined ? one.includes('#') : one.endsWith(`#${key}`)))
  for (const one of own) {
    const files = changedFiles(here.get(one)!)
    const changed = files.slice(0, 5).join(', ')
    const hint = `Changed since you agreed: ${changed}. Look with \`vtcode trust\`, agree, and start again.`
    if (files.length > 0) throw problem('VT_PLUGIN_UNTRUSTED', { id: one }, { hint, details: { files } })
  }
}

function changedFiles({ agreed, starts }: TrustItem): string[] {
  if (agreed === undefined || starts === undefined) return []
  const { root, tree } = agreed
  const { files } = findStarted(root, starts)
  const isChanged = (name: string): boolean => {
    const real = files[name]
    return real === undefined || real !== starts.files[name] || hashOf(real) !== tree.files[relative(root, real)]
  }
  const names = new Set([...Object.keys(starts.files), ...Object.keys(files)])
  return [...names].filter(isChanged).map((name) => relative(root, name))
}

function hashOf(file: string): string | undefined {
  try {
    return fileHash(readBytes(file, { limit: 256 * 1_048_576 }))
  } catch {
    return undefined
  }
}
