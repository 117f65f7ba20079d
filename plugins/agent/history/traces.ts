import { rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Workspace } from '../../../core/workspace/index.js'
import { historyFolder } from '../../lib/files/index.js'
import { CALLS_FOLDER, listSpoolFiles, SPOOL_FOLDER } from '../../lib/state/index.js'
import { dropSessionWorktrees } from '../../lib/worktrees/index.js'

/** Folders that a session may create. */
const folders = [CALLS_FOLDER, historyFolder, SPOOL_FOLDER]

/** Returns which folders of sessions exist. */
export async function listSessionFolders(workspace: Workspace): Promise<ReadonlySet<string>> {
  const existing = await Promise.all(
    ['.vtcode', ...folders].map(async (path) => ((await workspace.stat(path)) ? [path] : [])),
  )
  return new Set(existing.flat())
}

/** Deletes the files that tools and records wrote for a temporary session, and the folders created for it. */
export async function forgetSession(workspace: Workspace, id: string, before: ReadonlySet<string>): Promise<void> {
  await removeTraces(workspace, id)
  for (const path of folders) if (!before.has(path)) await removeEmptyFolder(workspace, path)
  if (!before.has('.vtcode')) await removeEmptyFolder(workspace, '.vtcode')
}

/** Deletes all files of a session. */
export async function removeTraces(workspace: Workspace, id: string): Promise<void> {
  const folder = `${CALLS_FOLDER}/${id}`
  if (await workspace.stat(folder)) await workspace.remove(folder, { recursive: true })
  for (const { name } of await workspace.listNames(historyFolder).catch(() => [])) {
    if (name === id || name.startsWith(`${id}_`))
      await workspace.remove(`${historyFolder}/${name}`, { recursive: true })
  }
  for (const { path } of await listSpoolFiles(workspace, id)) await workspace.remove(path)
  await dropSessionWorktrees(workspace, id)
}

/** Removes a folder that holds only a `.gitignore`. The workspace would move that file to a backup first. */
async function removeEmptyFolder(workspace: Workspace, path: string): Promise<void> {
  const names = await workspace.listNames(path).catch(() => undefined)
  if (!names?.every(({ name }) => name === '.gitignore')) return
  await using parent = await workspace.openDirectory(dirname(path))
  await rm(`${parent.ref}/${basename(path)}`, { recursive: true, force: true })
}
