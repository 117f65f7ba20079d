import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { inside } from '../../../core/base/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { entriesOf, indexFacts, leadsOut, misplaced, realPathOf, repositoryAt, settingsInFile, type GitSetting, type Repository } from '../git/index.js'

const oneOf = (words: string): RegExp => new RegExp(`^(${words.split(/\s+/).join('|')})$`)

// What a repository may say without anything of it being started. All else (fsmonitor, hooksPath, textconv, filters, aliases,
// included files, whatever git learns next) may be a program. Where the working tree lies is judged by itself.
const quiet: Record<string, RegExp> = {
  core: oneOf(`repositoryformatversion filemode bare worktree logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev
    compression whitespace sharedrepository untrackedcache preloadindex longpaths protectntfs protecthfs`),
  remote: /^(url|pushurl|fetch|prune|tagopt|promisor|partialclonefilter|gh-resolved)$/,
  branch: /^(remote|merge|rebase|description|pushremote|vscode-merge-base|github-pr-owner-number|gk-[a-z-]+)$/,
  submodule: /^(url|active|branch|path|ignore)$/,
  user: /^(name|email|useconfigonly)$/,
  init: /^defaultbranch$/,
  pull: /^(rebase|ff)$/,
  push: /^(default|autosetupremote|followtags)$/,
  fetch: /^(prune|prunetags|parallel)$/,
  color: /^/,
  log: /^(date|decorate|abbrevcommit|follow)$/,
  status: /^(?!submodulesummary$)/,
  index: /^(version|threads|sparse)$/,
  feature: /^/,
  gc: /^(auto|autodetach|pruneexpire)$/,
  rerere: /^(enabled|autoupdate)$/,
  extensions: /^(worktreeconfig|objectformat|partialclone|refstorage)$/,
  advice: /^/,
}

/** The one hook that looking can start: by putting the index on disk anew. */
export const hooksOfLooking = ['post-index-change']

const mostNested = 4

/**
 * Why git would start programs of the repository's choice in this folder, or tell of files outside of the workspace; `undefined` when
 * nothing there does. Git itself says which repository it finds and what is set there. Hooks: those that count.
 */
export async function configuredPrograms(folder: string, workspace: Workspace, hooks?: string[]): Promise<string | undefined> {
  return judged(nearestFolder(join(workspace.root, workspace.resolve(folder))), workspace.root, hooks, 0)
}

/** A folder that is made on the way is judged by the one that it will be made in. */
const nearestFolder = (folder: string): string => (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() || dirname(folder) === folder ? folder : nearestFolder(dirname(folder)))

async function judged(folder: string, root: string, hooks: string[] | undefined, depth: number): Promise<string | undefined> {
  const dotGit = markerAbove(folder)
  if (dotGit !== undefined && basename(dotGit) !== '.git') return 'the folder itself is a repository'
  const found = await repositoryAt(folder, root)
  if (!found) return undefined
  if ('refused' in found) return unusable(found.refused, dotGit, root, hooks)
  const { repository } = found
  return misplaced(repository, root) ?? loud(repository.settings) ?? leadsOut(repository, root) ?? hook(repository, hooks) ?? (await within(repository, root, hooks, depth))
}

/** The nearest `.git` upwards, or the HEAD of a repository whose files lie plainly in a folder: git would take whichever comes first. */
function markerAbove(folder: string): string | undefined {
  const [dotGit, head] = [join(folder, '.git'), join(folder, 'HEAD')]
  if (existsSync(dotGit)) return dotGit
  if (existsSync(head) && ['objects', 'refs', 'commondir'].some((name) => existsSync(join(folder, name)))) return head
  return dirname(folder) === folder ? undefined : markerAbove(dirname(folder))
}

/** What git does not take for a repository starts nothing yet; what is set there would count once the rest is in place. */
async function unusable(refused: string, dotGit: string | undefined, root: string, hooks?: string[]): Promise<string | undefined> {
  const why = `git says of the folder: ${refused}`
  if (dotGit === undefined || !refused.startsWith('fatal: not a git repository') || !lstatSync(dotGit).isDirectory()) return why
  const settings = await settingsInFile(join(dotGit, 'config'), root)
  return settings ? (loud(settings) ?? hook({ common: dotGit }, hooks)) : why
}

/** The first setting of the repository's own that is not known to be quiet. */
function loud(settings: readonly GitSetting[]): string | undefined {
  const found = settings.find(({ scope, key, value }) => ['local', 'worktree'].includes(scope) && !startsNothing(key, value))
  return found && `the repository's own ${basename(found.file ?? 'config')} says ${found.key.replace(/\..*\./s, '.').slice(0, 80)}`
}

/** Why git would start programs, or read elsewhere, by what lies in a git folder that nobody has asked git about yet. */
export async function programsOfGitFolder(folder: string, root: string): Promise<string | undefined> {
  const settings = await settingsInFile(join(folder, 'config'), root)
  if (!settings) return 'git cannot read its settings'
  const away = settings.find(({ key, value }) => key === 'core.worktree' && !inside(root, realPathOf(resolve(folder, value))))
  const odd = ['config.worktree', 'info/attributes', 'objects/info/alternates'].find((name) => existsSync(join(folder, name)))
  return loud(settings) ?? hook({ common: folder }) ?? (away && 'it names a working tree outside of the workspace') ?? (odd && `it has '${odd}'`)
}

/** Whether a setting is known to start nothing. */
export function startsNothing(key: string, value: string): boolean {
  const [section, name] = [key.slice(0, key.indexOf('.')).toLowerCase(), key.slice(key.lastIndexOf('.') + 1).toLowerCase()]
  // `ext::` and its kin start programs, and so does an address that looks like a flag.
  return Object.hasOwn(quiet, section) && quiet[section]!.test(name) && !/^(\w+::|-)/.test(value)
}

function hook({ common }: Pick<Repository, 'common'>, counted?: string[]): string | undefined {
  const own = entriesOf(join(common, 'hooks')).find(({ name }) => !name.endsWith('.sample') && (!counted || counted.includes(name)))
  return own && `the repository has a hook '${own.name}'`
}

/** What its index leads to: names that are not in it, and the repositories inside, into which git goes by itself. */
async function within(repository: Repository, root: string, hooks: string[] | undefined, depth: number): Promise<string | undefined> {
  const { submodules, odd } = await indexFacts(repository, root)
  if (odd) return odd
  for (const name of submodules) {
    const folder = join(repository.top, name)
    if (!existsSync(join(folder, '.git'))) continue
    const why = depth < mostNested ? await judged(realPathOf(folder), root, hooks, depth + 1) : 'its repositories are nested too deep'
    if (why) return `in '${name}' inside of it, ${why}`
  }
  return undefined
}
