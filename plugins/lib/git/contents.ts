import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isInside, readSmallFile, toRealPath } from '../../../core/system/index.js'
import { listEntries } from './entries.js'
import { fileState } from './file_state.js'
import { findGitFolder, type GitFolder } from './folders.js'
import type { Repository } from './repository.js'

const MAX_FOLDERS = 5000
// Names of loose objects derive from their content, so a planted link cannot lead to content that its author does not
// know.
const looseObjects = /(^|\/)objects\/[0-9a-f]{2}$/

/**
 * Returns why a repository does not belong to its working tree or lies outside `root`. The repository of a linked
 * worktree lies with the main one, which names it.
 */
export function findMisplacement({ top, path, common }: Repository, root: string): string | undefined {
  if (!isInside(root, top)) return 'its repository lies above the workspace'
  const own = findGitFolder(top)
  const dotGit = join(top, '.git')
  if (own?.path !== path || own.common !== common || lstatSync(dotGit).isSymbolicLink())
    return 'its git folder lies elsewhere'
  const isWorktree = path !== common
  if (isWorktree && dirname(path) !== join(common, 'worktrees')) return 'its repository shares the folder of another'
  if (isInside(root, path) && isInside(root, common)) return undefined
  const back = readSmallFile(join(path, 'gitdir'))?.trim()
  return isWorktree && back !== undefined && toRealPath(back) === dotGit ? undefined : 'its git folder lies elsewhere'
}

/** Returns what makes git read files outside `root`: a link in the git folder, or borrowed objects. */
export function findOutsideReference({ path, common }: GitFolder, root: string): string | undefined {
  for (const folder of new Set([path, common])) {
    const link = findOutsideLink(folder, root)
    if (link !== undefined) return link
  }
  const objects = listAlternates(join(common, 'objects'), 5).find((folder) => !isInside(root, toRealPath(folder)))
  return objects && `it borrows objects from '${objects.slice(0, 200)}'`
}

function findOutsideLink(folder: string, root: string): string | undefined {
  const { links, whole } = listLinks(folder)
  const path = links.find((link) => !isInside(root, toRealPath(join(folder, link))))
  if (path !== undefined) return `'${path.slice(0, 200)}' in its folder is a link that leads out of the workspace`
  return whole ? undefined : `its folder holds more than ${MAX_FOLDERS} folders`
}

/**
 * Lists links in a git folder, relative to it and without loose objects. Git writes through such links wherever they
 * lead, and creates none itself.
 */
export function listLinks(folder: string): { links: string[]; whole: boolean } {
  const links: string[] = []
  const queue = ['']
  for (let next = 0; next < queue.length; next += 1) {
    if (next >= MAX_FOLDERS) return { links, whole: false }
    for (const { name, isFolder, isLink } of listEntries(join(folder, queue[next]!))) {
      const path = join(queue[next]!, name)
      if (isLink) links.push(path)
      if (isFolder && !looseObjects.test(path)) queue.push(path)
    }
  }
  return { links, whole: true }
}

/** Lists alternate object folders, recursively. An unreadable list may name any folder. */
function listAlternates(objects: string, depth: number): string[] {
  const file = join(objects, 'info/alternates')
  if (depth === 0 || fileState(file) === '-') return []
  const lines = readSmallFile(file, 65_536)?.split('\n') ?? ['/']
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      // A quoted name may mean any path, so it counts as outside.
      const folder = line.startsWith('"') ? '/' : resolve(objects, line)
      return [folder, ...listAlternates(folder, depth - 1)]
    })
}
