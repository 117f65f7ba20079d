import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { isInside } from './path_text.js'
import { toRealPath } from './seal.js'
import { readSmallFile } from './small_file.js'

/** Folders whose programs belong to others: of every workspace of this process. */
const roots = new Set<string>()

/**
 * Records a workspace (real path), the repositories around it, and those that it is a worktree of: for the rest of this
 * process no program below them is found by a bare name. A repository around the home of the user is left out, because
 * the user's own programs are there.
 */
export function addForeignRoot(workspace: string): void {
  if (roots.has(workspace)) return
  const home = toRealPath(homedir())
  for (let folder = workspace; ; folder = dirname(folder)) {
    const found = existsSync(join(folder, '.git')) ? [folder, ...findOrigin(join(folder, '.git'))] : []
    for (const root of found) if (!isInside(root, home)) roots.add(root)
    if (dirname(folder) === folder) break
  }
  roots.add(workspace)
}

/** Returns the repository of a worktree. A `.git` file counts only if the repository names it too. */
function findOrigin(git: string): string[] {
  const [, target] = /^gitdir: *([^\r\n\0]+)/.exec(readSmallFile(git) ?? '') ?? []
  if (target === undefined) return []
  const own = toRealPath(resolve(dirname(git), target))
  const [pointer, shared] = ['gitdir', 'commondir'].map((name) => readSmallFile(join(own, name))?.trim())
  if (!pointer || !shared || toRealPath(resolve(own, pointer)) !== toRealPath(git)) return []
  const common = toRealPath(resolve(own, shared))
  return [basename(common) === '.git' ? dirname(common) : common]
}

/** Returns whether a path is in a workspace of this process, in its repository or in `workspace`, under any name. */
export function isForeign(path: string, workspace?: string): boolean {
  const all = workspace === undefined ? [...roots] : [...roots, workspace]
  return [path, toRealPath(path)].some((one) => all.some((root) => isInside(root, one)))
}

/**
 * Lists the folders of PATH, without relative ones and without folders of the workspaces of this process, of their
 * repositories or of `workspace`.
 */
export const listSearchFolders = (path: string | undefined, workspace?: string): string[] =>
  (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder) && !isForeign(folder, workspace))

let cleaned: { path: string; roots: number; text: string } | undefined

/** Returns a search path for programs outside the sandbox, without folders that belong to others. */
export function cleanSearchPath(path: string): string {
  if (cleaned?.path === path && cleaned.roots === roots.size) return cleaned.text
  // An empty search path would mean the working folder.
  const text = listSearchFolders(path).join(delimiter) || '/usr/bin:/bin'
  cleaned = { path, roots: roots.size, text }
  return text
}
