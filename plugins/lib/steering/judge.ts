import { dirname, join, relative } from 'node:path'
import { isInside } from '../../../core/system/index.js'
import type { OwnPath } from '../../../core/trust/index.js'
import { findGitFolderAbove, findGitFolder, isThere } from '../git/index.js'
import { canBeginEntry, createDenial, judgeName, type SteeringVerdict } from './names.js'
import { findInnerHome, type SteeredWorkspace } from './paths.js'
import { GIT_ABSENT_NAMES, GIT_CHANGES } from './table.js'
import { listFolderNames, searchSteeringFiles } from './tree.js'

interface PathContext {
  whole?: boolean
  configured?: readonly string[]
  own?: readonly OwnPath[]
  has?: (path: string) => boolean
}

/**
 * Creates a check whether a path exists once all of `paths` are written. A folder may become a repository by the last
 * of its parts, or by all at once.
 */
export function createExistenceCheck(paths: readonly string[], root: string): (path: string) => boolean {
  const made = new Set<string>()
  for (const path of paths)
    for (let at = join(root, path); at.length > root.length && !made.has(at); at = dirname(at)) made.add(at)
  return (path) => made.has(path) || isThere(path)
}

/**
 * Judges a path of the workspace: by its name, even if it does not exist, or because it is in the folder of a
 * repository. With `whole` everything below counts too, for a move, a copy or a deletion. `configured`: paths that
 * git settings name, from `findConfiguredPaths`. `own`: paths from `findOwnPaths`. `has`: checks whether a path will
 * exist after the call.
 */
export function judgePath(
  path: string,
  workspace: SteeredWorkspace,
  { whole = false, configured = [], own: ownPaths = [], has }: PathContext = {},
): SteeringVerdict | undefined {
  const { root } = workspace
  const real = join(root, path)
  if (findInnerHome(workspace).some((home) => isInside(home, real) || (whole && isInside(real, home))))
    return createDenial(path)
  const own = judgeName(path) ?? judgeGit(path, root, has)
  if (own?.verdict === 'deny') return own
  const place = configured.find((one) => isInside(one, real) || (whole && isInside(real, one)))
  if (own || place !== undefined)
    return (
      own ?? {
        verdict: 'ask',
        path,
        reason:
          `'${path}' is auto-executed config of git: ` +
          `the settings of the repository name '${relative(root, place!)}'.`,
      }
    )
  if (ownPaths.some((one) => isOwn(real, one, whole)))
    return {
      verdict: 'ask',
      path,
      reason: `'${path}' belongs to the user's own programs or settings, which no sandbox confines.`,
    }
  if (!whole) return undefined
  return findPointedFolders(root).some((folder) => isInside(real, folder))
    ? createDenial(path)
    : judgeBelow(path, workspace)
}

/** Returns whether a path is one of the user's own or leads there; with `whole` also a folder around it. */
const isOwn = (place: string, { path, real, kind }: OwnPath, whole: boolean): boolean =>
  [path, real].some(
    (one) => place === one || (kind === 'folder' && isInside(one, place)) || (whole && isInside(place, one)),
  )

/** Judges a path by its surroundings: a bare repository, the folder that a `.git` file names, a submodule. */
function judgeGit(path: string, root: string, has?: PathContext['has']): SteeringVerdict | undefined {
  const real = join(root, path)
  const holder = findGitFolderAbove(real, root, has)
  // A repository may keep its worktrees in its own folder; there only the files of git count.
  if (holder !== undefined && (holder !== root || isGitEntry(relative(root, real)))) return createDenial(path)
  return findPointedFolders(root).some((folder) => isInside(folder, real)) ? createDenial(path) : undefined
}

const GIT_ENTRIES = ['modules', 'worktrees', 'branches', 'remotes', 'info', 'description', 'gitdir']
function isGitEntry(path: string): boolean {
  const [first = ''] = path.split('/')
  return (
    first === '' ||
    [...GIT_ENTRIES, ...GIT_ABSENT_NAMES].includes(first) ||
    GIT_CHANGES.some((name) => name.test(first))
  )
}

const MAX_SIBLINGS = 256
/** Returns the git folders that `.git` files in the root and its folders name; they need not exist yet. */
function findPointedFolders(root: string): string[] {
  return ['.', ...listFolderNames(root).slice(0, MAX_SIBLINGS)].flatMap((name) => {
    const git = findGitFolder(join(root, name))
    return git ? [...new Set([git.path, git.common])].filter((place) => place !== root && isInside(root, place)) : []
  })
}

const MAX_BELOW = { depth: 64, folders: 20_000 }
function judgeBelow(path: string, workspace: SteeredWorkspace): SteeringVerdict | undefined {
  if (canBeginEntry(path)) return { verdict: 'ask', path, reason: `'${path}' is a folder of auto-executed config.` }
  const { found, whole } = searchSteeringFiles(workspace.root, path, MAX_BELOW)
  const verdicts = found.flatMap((entry) => judgePath(entry, workspace) ?? [])
  const worst = verdicts.find(({ verdict }) => verdict === 'deny') ?? verdicts[0]
  if (worst || whole) return worst
  return {
    verdict: 'ask',
    path,
    reason: `'${path}' is too large to inspect and may contain auto-executed config.`,
  }
}
