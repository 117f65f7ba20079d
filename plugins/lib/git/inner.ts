import { join, resolve } from 'node:path'
import { realPathOf } from '../../../core/system/index.js'
import { fileState } from './file_state.js'
import { findGitFolder, isThere } from './folders.js'
import { readSettingsBatch, findSpecialFile, type Repository } from './repository.js'

/**
 * The repositories of these folders as git takes them when it goes into them from an outer one: it is told there that `.git` is the folder
 * to take, and looks no further. One git says what is set in all of them. A text: why one of them is not to be taken.
 */
export async function readInnerRepositories(
  folders: readonly string[],
  workspace: string,
): Promise<(Repository | string)[] | { refused: string }> {
  const found = folders.map((top) => {
    const folder = findGitFolder(top)
    const special = findSpecialFile(top)
    if (special !== undefined) return `'${special}' is no plain file`
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
    const away = own.some(({ key, value }) => key === 'core.worktree' && realPathOf(resolve(path, value)) !== top)
    return away ? 'its working tree lies elsewhere' : { path, common, top, settings: own }
  })
}

/** Git reads the second one only where the first one says so; it is judged all the same. */
const listConfigFiles = (path: string, common: string): string[] =>
  [...new Set([join(common, 'config'), join(path, 'config.worktree'), join(common, 'config.worktree')])].filter(
    (file) => isThere(file) && fileState(file) !== '-',
  )
