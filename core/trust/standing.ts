import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { problem, type Contribution } from '../base/index.js'
import { standingOf, type TrustItem } from './digest.js'
import { readTree } from './tree.js'

// A program is started from the workspace itself, perhaps hours after its files were compared with what the user agreed to. So they are
// compared again whenever one is started: by a look at their names, and by their bytes where that shows a change or nobody looked before.

interface Standing {
  item: TrustItem
  stamp?: string
}
/** What the user agreed to, by workspace and by the id that it is asked for by: that of a contribution, or of a part of a settings file. */
const kept = new Map<string, Map<string, Standing>>()

/** Notes that the user agreed to an item as it stands, and answers with it: the programs that it starts may run until its files change. */
export function keepStanding(workspace: string, id: string, item: TrustItem): TrustItem {
  const here = kept.get(workspace) ?? new Map<string, Standing>()
  kept.set(workspace, here)
  if (here.get(id)?.item.digest !== item.digest) here.set(id, { item })
  return item
}

/**
 * Throws VT_PLUGIN_UNTRUSTED where files that the user agreed to have changed since, or others are there now that would be used: those of a
 * contribution of the workspace, or of the parts of its settings with this key, such as `hooks`. What is not the workspace's may run.
 */
export function requireStanding(workspace: string, { id, layer }: Pick<Contribution, 'id' | 'layer'>, key?: string): void {
  if (layer !== 'workspace') return
  const here = kept.get(workspace) ?? new Map<string, Standing>()
  const own = key === undefined && here.has(id) ? [id] : [...here.keys()].filter((one) => (key === undefined ? one.includes('#') : one.endsWith(`#${key}`)))
  for (const one of own) compare(one, here.get(one)!)
}

function compare(id: string, standing: Standing): void {
  const { agreed } = standing.item
  if (agreed === undefined) return
  const stamp = stampsOf(standing.item)
  if (stamp === standing.stamp) return
  const files = changedFiles(agreed)
  if (files.length > 0) throw problem('VT_PLUGIN_UNTRUSTED', { id }, { hint: `Changed since you agreed: ${files.slice(0, 5).join(', ')}. Look with \`vtcode trust\`, agree, and start again.`, details: { files } })
  standing.stamp = stamp
}

/** Those of a list are stamped one by one, and so are those of a folder that counts whole, with the folders in which others could appear. */
function stampsOf(item: TrustItem): string {
  const one = standingOf(item)
  if (one !== undefined) return one
  const { root, tree } = item.agreed!
  const names = Object.keys(tree.files)
  return standingOf({ ...item, agreed: { root, tree, only: [...names, ...new Set(names.map(dirname))] } })!
}

function changedFiles({ root, tree, only, absent = [] }: NonNullable<TrustItem['agreed']>): string[] {
  const appeared = absent.filter((path) => lstatSync(join(root, path), { throwIfNoEntry: false }))
  try {
    const now = readTree(root, only && { only })
    const names = new Set([...Object.keys(now.files), ...Object.keys(tree.files)])
    return [...appeared, ...[...names].filter((name) => now.files[name] !== tree.files[name])]
  } catch (error) {
    return [...appeared, (error as NodeJS.ErrnoException).path ?? root]
  }
}
