import { lstatSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import { listEntries } from './entries.js'
import { fileState } from './file_state.js'
import { findGitFolder, readSmallFile, type GitFolder } from './folders.js'
import type { Repository } from './repository.js'

const MAX_FOLDERS = 5000
// Objects of their own, each under a name that only its content gives: nobody can have a link there lead to what he does not know.
const looseObjects = /(^|\/)objects\/[0-9a-f]{2}$/

/** Why a repository is not that of its working tree, or not one in `root`. That of a further worktree lies with the main one, which names it. */
export function findMisplacement({ top, path, common }: Repository, root: string): string | undefined {
  if (!inside(root, top)) return 'its repository lies above the workspace'
  const own = findGitFolder(top)
  const dotGit = join(top, '.git')
  if (own?.path !== path || own.common !== common || lstatSync(dotGit).isSymbolicLink())
    return 'its repository lies elsewhere'
  const isWorktree = path !== common
  if (isWorktree && dirname(path) !== join(common, 'worktrees')) return 'its repository shares the folder of another'
  if (inside(root, path) && inside(root, common)) return undefined
  const back = readSmallFile(join(path, 'gitdir'))?.trim()
  return isWorktree && back !== undefined && realPathOf(back) === dotGit ? undefined : 'its repository lies elsewhere'
}

/** What makes git read files outside of `root` as if they were the repository's: a link in its folder, or objects borrowed from elsewhere. */
export function findOutsideReference({ path, common }: GitFolder, root: string): string | undefined {
  for (const folder of new Set([path, common])) {
    const link = findOutsideLink(folder, root)
    if (link !== undefined) return link
  }
  const objects = listAlternates(join(common, 'objects'), 5).find((folder) => !inside(root, realPathOf(folder)))
  return objects && `it borrows objects from '${objects.slice(0, 200)}'`
}

function findOutsideLink(folder: string, root: string): string | undefined {
  const { links, whole } = listLinks(folder)
  const path = links.find((link) => !inside(root, realPathOf(join(folder, link))))
  if (path !== undefined) return `'${path.slice(0, 200)}' in its folder is a link that leads out of the workspace`
  return whole ? undefined : 'its folder holds more than can be looked through'
}

/** The links in a git folder, relative to it, but for those among loose objects. Git writes through them, wherever they lead, and makes none itself. */
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

/** The folders of objects that one names, and those that these name. A list that cannot be read may name any. */
function listAlternates(objects: string, depth: number): string[] {
  const file = join(objects, 'info/alternates')
  if (depth === 0 || fileState(file) === '-') return []
  const lines = readSmallFile(file, 65_536)?.split('\n') ?? ['/']
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      // A name in quotes may spell any other: it is taken for one that leads out.
      const folder = line.startsWith('"') ? '/' : resolve(objects, line)
      return [folder, ...listAlternates(folder, depth - 1)]
    })
}
