import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { inside, realPathOf } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import {
  listEntries,
  readIndexFacts,
  readInnerRepositories,
  isThere,
  findOutsideReference,
  listLinks,
  findMisplacement,
  findRepository,
  readSettingsFile,
  isHarmlessSetting,
  type GitSetting,
  type Repository,
} from '../git/index.js'

/** The one hook that looking can start: by putting the index on disk anew. */
export const READ_HOOKS = ['post-index-change']

const MAX_NESTING = 4
/** Of the repositories inside of one, so many are looked at side by side, and all of them for so long; a policy that takes longer denies. */
const [PARALLEL, TIMEOUT_MS] = [8, 1500]

/** How a repository and those inside of it are looked at. */
interface Inspection {
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
export async function findConfiguredPrograms(
  folder: string,
  workspace: Workspace,
  hooks?: string[],
): Promise<string | undefined> {
  return judgeFolder(findExistingFolder(join(workspace.root, workspace.resolve(folder))), {
    root: workspace.root,
    hooks,
    until: Date.now() + TIMEOUT_MS,
  })
}

/** A folder that is made on the way is judged by the one that it will be made in. */
const findExistingFolder = (folder: string): string =>
  lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() || dirname(folder) === folder
    ? folder
    : findExistingFolder(dirname(folder))

async function judgeFolder(folder: string, look: Inspection): Promise<string | undefined> {
  const { root, hooks } = look
  const dotGit = findGitMarker(folder)
  if (dotGit !== undefined && basename(dotGit) !== '.git') return 'the folder itself is a repository'
  const found = await findRepository(folder, root)
  if (!found) return undefined
  if ('refused' in found) return judgeUnusable(found.refused, dotGit, root, hooks)
  return judgeRepository(found.repository, look, 0)
}

async function judgeRepository(repository: Repository, look: Inspection, depth: number): Promise<string | undefined> {
  const { root, hooks } = look
  return (
    findMisplacement(repository, root) ??
    findStartingSetting(repository.settings) ??
    findOutsideReference(repository, root) ??
    findHook(repository, hooks) ??
    (await judgeSubmodules(repository, look, depth))
  )
}

/** The nearest `.git` upwards, or the HEAD of a repository whose files lie plainly in a folder: git would take whichever comes first. */
function findGitMarker(folder: string): string | undefined {
  const [dotGit, head] = [join(folder, '.git'), join(folder, 'HEAD')]
  if (existsSync(dotGit)) return dotGit
  if (existsSync(head) && ['objects', 'refs', 'commondir'].some((name) => existsSync(join(folder, name)))) return head
  return dirname(folder) === folder ? undefined : findGitMarker(dirname(folder))
}

/** What git does not take for a repository starts nothing yet; what is set there would count once the rest is in place. */
async function judgeUnusable(
  refused: string,
  dotGit: string | undefined,
  root: string,
  hooks?: string[],
): Promise<string | undefined> {
  const why = `git says of the folder: ${refused}`
  if (dotGit === undefined || !refused.startsWith('fatal: not a git repository') || !lstatSync(dotGit).isDirectory())
    return why
  const settings = await readSettingsFile(join(dotGit, 'config'), root)
  return settings ? (findStartingSetting(settings) ?? findHook({ common: dotGit }, hooks)) : why
}

/** The first setting of the repository's own that is not known to be quiet. */
function findStartingSetting(settings: readonly GitSetting[]): string | undefined {
  const found = settings.find(
    ({ scope, key, value }) => ['local', 'worktree'].includes(scope) && !isHarmlessSetting(key, value),
  )
  return (
    found &&
    `the repository's own ${basename(found.file ?? 'config')} says ${found.key.replace(/\..*\./s, '.').slice(0, 80)}`
  )
}

/** Why git would start programs, or read elsewhere, by what lies in a git folder that nobody has asked git about yet. */
export async function findGitFolderPrograms(folder: string, root: string): Promise<string | undefined> {
  const settings = await readSettingsFile(join(folder, 'config'), root)
  if (!settings) return 'git cannot read its settings'
  const away = settings.find(
    ({ key, value }) => key === 'core.worktree' && !inside(root, realPathOf(resolve(folder, value))),
  )
  const link = listLinks(folder).links[0]
  const odd = ['config.worktree', 'info/attributes', 'objects/info/alternates'].find((name) =>
    existsSync(join(folder, name)),
  )
  return (
    findStartingSetting(settings) ??
    findHook({ common: folder }) ??
    (away && 'it names a working tree outside of the workspace') ??
    (odd && `it has '${odd}'`) ??
    (link && `'${link.slice(0, 200)}' in it is a link`)
  )
}

function findHook({ common }: Pick<Repository, 'common'>, counted?: string[]): string | undefined {
  const own = listEntries(realPathOf(join(common, 'hooks'))).find(
    ({ name }) => !name.endsWith('.sample') && (!counted || counted.includes(name)),
  )
  return own && `the repository has a hook '${own.name}'`
}

/** What its index leads to: names that are not in it, and the repositories inside, into which git goes by itself. */
async function judgeSubmodules(
  repository: Repository,
  { root, hooks, until }: Inspection,
  depth: number,
): Promise<string | undefined> {
  const { submodules, odd } = await readIndexFacts(repository, root)
  if (odd) return odd
  const names = submodules.filter((name) => isThere(join(repository.top, name, '.git')))
  if (names.length === 0) return undefined
  if (depth >= MAX_NESTING) return 'its repositories are nested too deep'
  const inner = await readInnerRepositories(
    names.map((name) => realPathOf(join(repository.top, name))),
    root,
  )
  if ('refused' in inner) return `git says of the repositories inside of it: ${inner.refused}`
  for (let at = 0; at < names.length; at += PARALLEL) {
    if (Date.now() > until)
      return `it holds ${names.length} repositories, which is more than can be looked through at once`
    const whys = await Promise.all(
      inner
        .slice(at, at + PARALLEL)
        .map((one) => (typeof one === 'string' ? one : judgeRepository(one, { root, hooks, until }, depth + 1))),
    )
    const bad = whys.findIndex((why) => why !== undefined)
    if (bad >= 0) return `in '${names[at + bad]}' inside of it, ${whys[bad]}`
  }
  return undefined
}
