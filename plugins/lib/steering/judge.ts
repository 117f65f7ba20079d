import { dirname, join, relative } from 'node:path'
import { inside } from '../../../core/system/index.js'
import { findGitFolderAbove, findGitFolder, isThere } from '../git/index.js'
import { beginsEntry, denied, judgeName, type SteeringVerdict } from './names.js'
import { homeWithin, type SteeredPlace } from './paths.js'
import { absentInGit, changesInGit } from './table.js'
import { folderNames, steeringBelow } from './tree.js'

interface PathContext {
  whole?: boolean
  configured?: readonly string[]
  has?: (path: string) => boolean
}

/** Whether a place is there, or will be once all of these are written: so a folder becomes a repository by the last of its parts, or by all of them at once. */
export function onceWritten(paths: readonly string[], root: string): (path: string) => boolean {
  const made = new Set<string>()
  for (const path of paths)
    for (let at = join(root, path); at.length > root.length && !made.has(at); at = dirname(at)) made.add(at)
  return (path) => made.has(path) || isThere(path)
}

/**
 * Whether a place of the workspace steers programs: by its name, also where nothing is there yet, or because it lies in the folder of a
 * repository. With `whole` everything below it counts too, for what is moved, copied or deleted with all it holds. `configured` are the
 * places that git was told of here, as `configuredPlaces` finds them; `has` says what will be there, with what is written beside this one.
 */
export function judgePath(
  path: string,
  workspace: SteeredPlace,
  { whole = false, configured = [], has }: PathContext = {},
): SteeringVerdict | undefined {
  const { root } = workspace
  const real = join(root, path)
  if (homeWithin(workspace).some((home) => inside(home, real) || (whole && inside(real, home)))) return denied(path)
  const own = judgeName(path) ?? judgeGit(path, root, has)
  if (own?.verdict === 'deny') return own
  const place = configured.find((one) => inside(one, real) || (whole && inside(real, one)))
  if (own || place !== undefined)
    return (
      own ?? {
        verdict: 'ask',
        path,
        reason: `'${path}' decides what git runs: the settings of the repository name '${relative(root, place!)}'.`,
      }
    )
  if (!whole) return undefined
  return pointedAt(root).some((folder) => inside(real, folder)) ? denied(path) : judgeBelow(path, workspace)
}

/** By what lies around it: a bare repository, the folder that a `.git` file names, that of a submodule. */
function judgeGit(path: string, root: string, has?: PathContext['has']): SteeringVerdict | undefined {
  const real = join(root, path)
  const holder = findGitFolderAbove(real, root, has)
  // A repository may have its worktrees inside of its own folder: there only what is git's counts.
  if (holder !== undefined && (holder !== root || isOwnOfGit(relative(root, real)))) return denied(path)
  return pointedAt(root).some((folder) => inside(folder, real)) ? denied(path) : undefined
}

const alsoOfGit = ['modules', 'worktrees', 'branches', 'remotes', 'info', 'description', 'gitdir']
function isOwnOfGit(path: string): boolean {
  const [first = ''] = path.split('/')
  return first === '' || [...alsoOfGit, ...absentInGit].includes(first) || changesInGit.some((name) => name.test(first))
}

const mostSiblings = 256
/** Git folders that `.git` files in the root and in its folders name: nothing need be there yet. */
function pointedAt(root: string): string[] {
  return ['.', ...folderNames(root).slice(0, mostSiblings)].flatMap((name) => {
    const git = findGitFolder(join(root, name))
    return git ? [...new Set([git.path, git.common])].filter((place) => place !== root && inside(root, place)) : []
  })
}

const mostBelow = { depth: 64, folders: 20_000 }
function judgeBelow(path: string, workspace: SteeredPlace): SteeringVerdict | undefined {
  if (beginsEntry(path))
    return { verdict: 'ask', path, reason: `'${path}' is a folder whose files decide what programs run.` }
  const { found, whole } = steeringBelow(workspace.root, path, mostBelow)
  const verdicts = found.flatMap((entry) => judgePath(entry, workspace) ?? [])
  const worst = verdicts.find(({ verdict }) => verdict === 'deny') ?? verdicts[0]
  if (worst || whole) return worst
  return {
    verdict: 'ask',
    path,
    reason: `'${path}' holds more than can be looked through; what steers programs may be in it.`,
  }
}
