import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import {
  entriesOf,
  indexFacts,
  innerRepositories,
  isThere,
  leadsOut,
  linksIn,
  misplaced,
  repositoryAt,
  settingsInFile,
  startsNothing,
  type GitSetting,
  type Repository,
} from '../git/index.js'

/** The one hook that looking can start: by putting the index on disk anew. */
export const hooksOfLooking = ['post-index-change']

const mostNested = 4
/** Of the repositories inside of one, so many are looked at side by side, and all of them for so long; a policy that takes longer denies. */
const [side, most_ms] = [8, 1500]

/** How a repository and those inside of it are looked at. */
interface Look {
  root: string
  /** The hooks that count; all where there is no list. */
  hooks: string[] | undefined
  /** Until when. */
  until: number
}

/**
 * Why git would start programs of the repository's choice in this folder, or tell of files outside of the workspace; `undefined` when
 * nothing there does. Git itself says which repository it finds and what is set there. Hooks: those that count.
 */
export async function configuredPrograms(
  folder: string,
  workspace: Workspace,
  hooks?: string[],
): Promise<string | undefined> {
  return judged(nearestFolder(join(workspace.root, workspace.resolve(folder))), {
    root: workspace.root,
    hooks,
    until: Date.now() + most_ms,
  })
}

/** A folder that is made on the way is judged by the one that it will be made in. */
const nearestFolder = (folder: string): string =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() || dirname(folder) === folder
    ? folder
    : nearestFolder(dirname(folder))

async function judged(folder: string, look: Look): Promise<string | undefined> {
  const { root, hooks } = look
  const dotGit = markerAbove(folder)
  if (dotGit !== undefined && basename(dotGit) !== '.git') return 'the folder itself is a repository'
  const found = await repositoryAt(folder, root)
  if (!found) return undefined
  if ('refused' in found) return unusable(found.refused, dotGit, root, hooks)
  return judgedAlone(found.repository, look, 0)
}

async function judgedAlone(repository: Repository, look: Look, depth: number): Promise<string | undefined> {
  const { root, hooks } = look
  return (
    misplaced(repository, root) ??
    loud(repository.settings) ??
    leadsOut(repository, root) ??
    hook(repository, hooks) ??
    (await within(repository, look, depth))
  )
}

/** The nearest `.git` upwards, or the HEAD of a repository whose files lie plainly in a folder: git would take whichever comes first. */
function markerAbove(folder: string): string | undefined {
  const [dotGit, head] = [join(folder, '.git'), join(folder, 'HEAD')]
  if (existsSync(dotGit)) return dotGit
  if (existsSync(head) && ['objects', 'refs', 'commondir'].some((name) => existsSync(join(folder, name)))) return head
  return dirname(folder) === folder ? undefined : markerAbove(dirname(folder))
}

/** What git does not take for a repository starts nothing yet; what is set there would count once the rest is in place. */
async function unusable(
  refused: string,
  dotGit: string | undefined,
  root: string,
  hooks?: string[],
): Promise<string | undefined> {
  const why = `git says of the folder: ${refused}`
  if (dotGit === undefined || !refused.startsWith('fatal: not a git repository') || !lstatSync(dotGit).isDirectory())
    return why
  const settings = await settingsInFile(join(dotGit, 'config'), root)
  return settings ? (loud(settings) ?? hook({ common: dotGit }, hooks)) : why
}

/** The first setting of the repository's own that is not known to be quiet. */
function loud(settings: readonly GitSetting[]): string | undefined {
  const found = settings.find(
    ({ scope, key, value }) => ['local', 'worktree'].includes(scope) && !startsNothing(key, value),
  )
  return (
    found &&
    `the repository's own ${basename(found.file ?? 'config')} says ${found.key.replace(/\..*\./s, '.').slice(0, 80)}`
  )
}

/** Why git would start programs, or read elsewhere, by what lies in a git folder that nobody has asked git about yet. */
export async function programsOfGitFolder(folder: string, root: string): Promise<string | undefined> {
  const settings = await settingsInFile(join(folder, 'config'), root)
  if (!settings) return 'git cannot read its settings'
  const away = settings.find(
    ({ key, value }) => key === 'core.worktree' && !inside(root, realPathOf(resolve(folder, value))),
  )
  const link = linksIn(folder).links[0]
  const odd = ['config.worktree', 'info/attributes', 'objects/info/alternates'].find((name) =>
    existsSync(join(folder, name)),
  )
  return (
    loud(settings) ??
    hook({ common: folder }) ??
    (away && 'it names a working tree outside of the workspace') ??
    (odd && `it has '${odd}'`) ??
    (link && `'${link.slice(0, 200)}' in it is a link`)
  )
}

function hook({ common }: Pick<Repository, 'common'>, counted?: string[]): string | undefined {
  const own = entriesOf(realPathOf(join(common, 'hooks'))).find(
    ({ name }) => !name.endsWith('.sample') && (!counted || counted.includes(name)),
  )
  return own && `the repository has a hook '${own.name}'`
}

/** What its index leads to: names that are not in it, and the repositories inside, into which git goes by itself. */
async function within(
  repository: Repository,
  { root, hooks, until }: Look,
  depth: number,
): Promise<string | undefined> {
  const { submodules, odd } = await indexFacts(repository, root)
  if (odd) return odd
  const names = submodules.filter((name) => isThere(join(repository.top, name, '.git')))
  if (names.length === 0) return undefined
  if (depth >= mostNested) return 'its repositories are nested too deep'
  const inner = await innerRepositories(
    names.map((name) => realPathOf(join(repository.top, name))),
    root,
  )
  if ('refused' in inner) return `git says of the repositories inside of it: ${inner.refused}`
  for (let at = 0; at < names.length; at += side) {
    if (Date.now() > until)
      return `it holds ${names.length} repositories, which is more than can be looked through at once`
    const whys = await Promise.all(
      inner
        .slice(at, at + side)
        .map((one) => (typeof one === 'string' ? one : judgedAlone(one, { root, hooks, until }, depth + 1))),
    )
    const bad = whys.findIndex((why) => why !== undefined)
    if (bad >= 0) return `in '${names[at + bad]}' inside of it, ${whys[bad]}`
  }
  return undefined
}
