import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import { findRepository } from '../git/index.js'

const naming = ['core.hookspath', 'core.attributesfile']

/**
 * Real places of the workspace that git's settings name, whoever made them: where hooks are looked for, and files that are read as
 * settings. Not the workspace itself: what is in it is judged by its names.
 */
export async function configuredPlaces(root: string): Promise<string[]> {
  const found = await findRepository(root, root)
  if (!found || 'refused' in found) return []
  const { top, settings } = found.repository
  const named = settings
    .filter(({ key, scope }) => naming.includes(key) && scope !== 'command')
    .map(({ value }) => resolve(top, value.replace(/^~(?=\/)/, homedir())))
  const read = settings.flatMap(({ file }) => file ?? [])
  return [...new Set([...new Set([...named, ...read])].map(realPathOf))].filter(
    (place) => place !== root && inside(root, place),
  )
}
