import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isInside, toRealPath } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { findMisplacement, findOutsideReference, listLinks } from './contents.js'
import { listEntries } from './entries.js'
import { isThere } from './folders.js'
import { isHarmlessSetting } from './harmless_settings.js'
import { readIndexFacts } from './index_facts.js'
import { readInnerRepositories } from './inner_repositories.js'
import { findRepository, readSettingsFile, type GitSetting, type Repository } from './repository.js'

/** The only hook that a reading command can start, when it refreshes the index on disk. */
export const READ_HOOKS = ['post-index-change']

const MAX_NESTING = 4
/** Number of inner repositories that are inspected in parallel, and the time limit for all. */
const [PARALLEL, TIMEOUT_MS] = [8, 1500]

/** Settings of an inspection of a repository and those inside it. */
interface Inspection {
  root: string
  /** Hooks that count; `undefined` for all. */
  hooks: string[] | undefined
  /** Deadline in milliseconds since the epoch. */
  until: number
}

/**
 * Returns a clause if git would start programs that the repository chooses in this folder, or read files outside the
 * workspace. Git itself reports which repository it finds and its settings. `hooks`: the hooks that count.
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

/** Returns the nearest existing folder, by which a new folder is judged. */
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

/** Returns the nearest `.git` upwards, or the HEAD of a bare repository; git takes the first that it finds. */
function findGitMarker(folder: string): string | undefined {
  const [dotGit, head] = [join(folder, '.git'), join(folder, 'HEAD')]
  if (existsSync(dotGit)) return dotGit
  if (existsSync(head) && ['objects', 'refs', 'commondir'].some((name) => existsSync(join(folder, name)))) return head
  return dirname(folder) === folder ? undefined : findGitMarker(dirname(folder))
}

/**
 * Judges a folder that git does not accept as a repository. Nothing starts yet, but its settings would count once the
 * rest exists.
 */
async function judgeUnusable(
  refused: string,
  dotGit: string | undefined,
  root: string,
  hooks?: string[],
): Promise<string | undefined> {
  const why = `git reports about the folder: ${refused}`
  if (dotGit === undefined || !refused.startsWith('fatal: not a git repository') || !lstatSync(dotGit).isDirectory())
    return why
  const settings = await readSettingsFile(join(dotGit, 'config'), root)
  return settings ? (findStartingSetting(settings) ?? findHook({ common: dotGit }, hooks)) : why
}

/** Returns a clause about the first own setting of a repository that may start a program. */
function findStartingSetting(settings: readonly GitSetting[]): string | undefined {
  const found = settings.find(
    ({ scope, key, value }) => ['local', 'worktree'].includes(scope) && !isHarmlessSetting(key, value),
  )
  return (
    found &&
    `the repository's own ${basename(found.file ?? 'config')} sets ${found.key.replace(/\..*\./s, '.').slice(0, 80)}`
  )
}

/** Returns a clause if git would start programs or read elsewhere because of a git folder that git has not read yet. */
export async function findGitFolderPrograms(folder: string, root: string): Promise<string | undefined> {
  const settings = await readSettingsFile(join(folder, 'config'), root)
  if (!settings) return 'git cannot read its settings'
  const away = settings.find(
    ({ key, value }) => key === 'core.worktree' && !isInside(root, toRealPath(resolve(folder, value))),
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
  const own = listEntries(toRealPath(join(common, 'hooks'))).find(
    ({ name }) => !name.endsWith('.sample') && (!counted || counted.includes(name)),
  )
  return own && `the repository has a hook '${own.name}'`
}

/** Judges the index: names outside the workspace, and submodules, which git enters by itself. */
async function judgeSubmodules(
  repository: Repository,
  { root, hooks, until }: Inspection,
  depth: number,
): Promise<string | undefined> {
  const { submodules, objection } = await readIndexFacts(repository, root)
  if (objection) return objection
  const names = submodules.filter((name) => isThere(join(repository.top, name, '.git')))
  if (names.length === 0) return undefined
  if (depth >= MAX_NESTING) return 'its repositories are nested too deep'
  const inner = await readInnerRepositories(
    names.map((name) => toRealPath(join(repository.top, name))),
    root,
  )
  if ('refused' in inner) return `git reports about the repositories inside it: ${inner.refused}`
  for (let at = 0; at < names.length; at += PARALLEL) {
    if (Date.now() > until) return `it holds ${names.length} repositories, too many to inspect in time`
    const whys = await Promise.all(
      inner
        .slice(at, at + PARALLEL)
        .map((one) => (typeof one === 'string' ? one : judgeRepository(one, { root, hooks, until }, depth + 1))),
    )
    const bad = whys.findIndex((why) => why !== undefined)
    if (bad >= 0) return `in '${names[at + bad]}' inside it, ${whys[bad]}`
  }
  return undefined
}
