import { existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { omitUndefined, problem } from '../shapes/index.js'
import { openSettings, PACKAGE_FILE, searchFolder, type FoundFile } from '../documents/index.js'
import { LOCAL_PLACES, STATE_PLACES, WORKSPACE_PLACES } from './places.js'
import { wrapReadErrors } from './source.js'

/**
 * Finds the settings files of a workspace; a later file overrides an earlier one. The user's own folder is not read
 * twice.
 */
export async function findWorkspaceFiles(workspace: string, home: string): Promise<FoundFile[]> {
  const isHome = isSameFolder(join(workspace, '.vtcode'), home)
  const groups = isHome ? [WORKSPACE_PLACES] : [[...WORKSPACE_PLACES, ...STATE_PLACES], LOCAL_PLACES]
  const found: FoundFile[] = []
  for (const places of groups) {
    const one = await findOnly(workspace, places, workspace)
    if (one) found.push(one)
  }
  return found
}

/** Returns the settings file of a folder. Throws VT_CONFIG_AMBIGUOUS if there are two, and VT_CONFIG_INVALID. */
export async function findOnly(
  folder: string,
  places: readonly string[],
  within?: string,
): Promise<FoundFile | undefined> {
  const found = await wrapReadErrors(folder, () => searchFolder(folder, places, omitUndefined({ within })))
  const files = found.map(({ file }) => (basename(file) === PACKAGE_FILE ? `${file}#vtcode` : file))
  if (found.length > 1)
    throw problem('VT_CONFIG_AMBIGUOUS', { count: found.length, files: files.join(', ') }, { details: { files } })
  return found[0]
}

/** Opens a settings file that was named. Throws VT_CONFIG_INVALID. */
export const openFile = (file: string): Promise<FoundFile> => wrapReadErrors(file, async () => openSettings(file))

export function isSameFolder(a: string, b: string): boolean {
  if (!existsSync(a) || !existsSync(b)) return false
  const [one, other] = [statSync(a), statSync(b)]
  return one.dev === other.dev && one.ino === other.ino
}
