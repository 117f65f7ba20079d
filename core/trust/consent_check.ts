import { relative } from 'node:path'
import { problem, type Contribution } from '../shapes/index.js'
import type { TrustItem } from './digest.js'
import { findStarted } from './programs.js'
import { hashIfReadable } from './guards.js'

// A program starts from the workspace itself, perhaps hours after consent was checked, so the files that its words
// name are hashed again.

/** Consented items, by workspace and by the id of a contribution or of a part of a settings file. */
const consented = new Map<string, Map<string, TrustItem>>()

/** Records the consent to an item, and returns it: its programs may run until their files change. */
export function recordConsent(workspace: string, id: string, item: TrustItem): TrustItem {
  const here = consented.get(workspace) ?? new Map<string, TrustItem>()
  consented.set(workspace, here.set(id, item))
  return item
}

/**
 * Throws VT_PLUGIN_UNTRUSTED if a command names other files, or other content, than the user agreed to: a command of a
 * contribution of the workspace, or of the parts of its settings with this key, such as `hooks`. Other layers may run.
 */
export function requireUnchanged(
  workspace: string,
  { id, layer }: Pick<Contribution, 'id' | 'layer'>,
  key?: string,
): void {
  if (layer !== 'workspace') return
  const here = consented.get(workspace) ?? new Map<string, TrustItem>()
  const own =
    key === undefined && here.has(id)
      ? [id]
      : [...here.keys()].filter((one) => (key === undefined ? one.includes('#') : one.endsWith(`#${key}`)))
  for (const one of own) {
    const files = listChangedFiles(here.get(one)!)
    const changed = files.slice(0, 5).join(', ')
    const hint = `Changed since you agreed: ${changed}. Check and agree with \`vtcode trust\`, then start again.`
    if (files.length > 0) throw problem('VT_PLUGIN_UNTRUSTED', { id: one }, { hint, details: { files } })
  }
}

function listChangedFiles({ agreed, starts }: TrustItem): string[] {
  if (agreed === undefined || starts === undefined) return []
  const { root, tree } = agreed
  const { files } = findStarted(root, starts)
  const isChanged = (name: string): boolean => {
    const real = files[name]
    return (
      real === undefined || real !== starts.files[name] || hashIfReadable(real) !== tree.files[relative(root, real)]
    )
  }
  const names = new Set([...Object.keys(starts.files), ...Object.keys(files)])
  return [...names].filter(isChanged).map((name) => relative(root, name))
}
