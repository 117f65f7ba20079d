import { join, resolve } from 'node:path'
import { toRealPath } from '../../../core/system/index.js'
import { fileState } from './file_state.js'
import { findGitFolder, isThere } from './folders.js'
import { readSettingsBatch, findSpecialFile, type Repository } from './repository.js'

/**
 * Returns the inner repositories of these folders as git enters them from an outer one: git takes `.git` there without
 * further search. One git process reads the settings of all. A text gives the reason why a repository is refused.
 */
export async function readInnerRepositories(
  folders: readonly string[],
  workspace: string,
): Promise<(Repository | string)[] | { refused: string }> {
  const found = folders.map((top) => {
    const folder = findGitFolder(top)
    const special = findSpecialFile(top)
    if (special !== undefined) return `'${special}' is not a regular file`
    return folder
      ? { ...folder, top, files: listConfigFiles(folder.path, folder.common) }
      : "its '.git' names no folder"
  })
  const settings = await readSettingsBatch(
    [...new Set(found.flatMap((one) => (typeof one === 'string' ? [] : one.files)))],
    workspace,
  )
  if ('refused' in settings) return settings
  return found.map((one) => {
    if (typeof one === 'string') return one
    const own = one.files.flatMap((file) => settings.get(file) ?? [])
    const { path, common, top } = one
    const away = own.some(({ key, value }) => key === 'core.worktree' && toRealPath(resolve(path, value)) !== top)
    return away ? 'its working tree lies elsewhere' : { path, common, top, settings: own }
  })
}

/** Git reads `config.worktree` only if `config` enables it; it is checked regardless. */
const listConfigFiles = (path: string, common: string): string[] =>
  [...new Set([join(common, 'config'), join(path, 'config.worktree'), join(common, 'config.worktree')])].filter(
    (file) => isThere(file) && fileState(file) !== '-',
  )
