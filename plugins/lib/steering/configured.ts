import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { isInside, toRealPath } from '../../../core/system/index.js'
import { findRepository } from '../git/index.js'

const NAMING_KEYS = ['core.hookspath', 'core.attributesfile']

/**
 * Returns the real paths in the workspace that git settings name, in any file: folders of hooks, and files that git
 * reads as settings. Excludes the workspace itself, whose files are judged by name.
 */
export async function findConfiguredPaths(root: string): Promise<string[]> {
  const found = await findRepository(root, root)
  if (!found || 'refused' in found) return []
  const { top, settings } = found.repository
  const named = settings
    .filter(({ key, scope }) => NAMING_KEYS.includes(key) && scope !== 'command')
    .map(({ value }) => resolve(top, value.replace(/^~(?=\/)/, homedir())))
  const read = settings.flatMap(({ file }) => file ?? [])
  return [...new Set([...new Set([...named, ...read])].map(toRealPath))].filter(
    (place) => place !== root && isInside(root, place),
  )
}
