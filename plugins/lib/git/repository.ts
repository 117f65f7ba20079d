import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { toRealPath } from '../../../core/system/index.js'
import { askGit } from './ask_git.js'
import { bigStat, fileState, TICK_NS } from './file_state.js'
import { findGitFolder, isGitFolder, isThere, resolveGitFolder, type GitFolder } from './folders.js'

/** One setting as git reads it. */
export interface GitSetting {
  /** `local` and `worktree` belong to the repository. */
  scope: string
  /** File of the setting; `undefined` for the command line and for settings of this program. */
  file: string | undefined
  /** Section and name in lower case. */
  key: string
  value: string
}

/** The repository that git finds for a folder, with all its settings. */
export interface Repository extends GitFolder {
  /** Real path of the working tree. */
  top: string
  settings: readonly GitSetting[]
}

export type FoundRepository = { repository: Repository } | { refused: string } | undefined

/** An answer of git, cached until a file that it depends on changes. */
interface CachedAnswer<T> {
  value: T
  files: string[]
  state: string
}
const known = new Map<string, CachedAnswer<FoundRepository>>()
const knownSettings = new Map<string, CachedAnswer<readonly GitSetting[]>>()
const MAX_KNOWN = 500
const LIST_ARGS = ['--list', '-z', '--show-scope', '--show-origin']

/**
 * Finds the repository of a folder as git reports it; `undefined` if there is none. The answer is cached until a file
 * changes that git named or that would lead git to another repository.
 */
export async function findRepository(folder: string, workspace: string): Promise<FoundRepository> {
  const before = findCached(known, folder)
  if (before) return before.value
  const nearest = findNearestFolder(folder)
  if (nearest === undefined) return undefined
  const special = findSpecialFile(nearest)
  if (special !== undefined) return { refused: `'${special}' is not a regular file` }
  const began = BigInt(Date.now()) * 1_000_000n
  const [places, settings] = await Promise.all([
    askGit(['rev-parse', '--absolute-git-dir', '--git-common-dir', '--show-toplevel'], folder, workspace),
    askGit(['config', ...LIST_ARGS], folder, workspace),
  ])
  if ('refused' in places) return places
  if ('refused' in settings) return settings
  const [path, common, top, ...rest] = places.output.split('\n')
  if (!path || !common || !top || rest.join('') !== '')
    return { refused: 'the name of its folder has more than one line' }
  const repository: Repository = {
    path,
    common: toRealPath(resolve(folder, common)),
    top,
    settings: parseSettings(settings.output, top),
  }
  const found = { repository }
  cacheAnswer(known, folder, found, listDependencies(folder, repository), began)
  return found
}

/** Reads all git settings that apply in a folder, inside or outside a repository. Cached like a repository. */
export async function readSettings(folder: string, workspace: string): Promise<readonly GitSetting[]> {
  const found = await findRepository(folder, workspace)
  if (found) return 'refused' in found ? [] : found.repository.settings
  const key = `${folder}\0${homedir()}`
  const before = findCached(knownSettings, key)
  if (before) return before.value
  const began = BigInt(Date.now()) * 1_000_000n
  const answer = await askGit(['config', ...LIST_ARGS], folder, workspace)
  if ('refused' in answer) return []
  const settings = parseSettings(answer.output, folder)
  cacheAnswer(knownSettings, key, settings, listSettingFiles(settings), began)
  return settings
}

/** Reads the settings of one file as settings of a repository; `undefined` if git cannot read the file. */
export async function readSettingsFile(file: string, workspace: string): Promise<readonly GitSetting[] | undefined> {
  if (fileState(file) === '-') return []
  const answer = await askGit(['config', '--file', file, ...LIST_ARGS], dirname(file), workspace)
  return 'refused' in answer
    ? undefined
    : parseSettings(answer.output, dirname(file)).map((setting) => ({ ...setting, scope: 'local' }))
}

const knownFiles = new Map<string, { settings: GitSetting[]; state: string }>()
const MAX_KNOWN_FILES = 5000

/**
 * Reads settings of many files with one git process, each cached until it changes. Included settings count for the
 * included file.
 */
export async function readSettingsBatch(
  files: readonly string[],
  workspace: string,
): Promise<Map<string, readonly GitSetting[]> | { refused: string }> {
  const began = BigInt(Date.now()) * 1_000_000n
  const states = new Map(files.map((file) => [file, fileState(file)]))
  const fresh = files.filter((file) => knownFiles.get(file)?.state !== states.get(file))
  const read = new Map<string, GitSetting[]>(fresh.map((file) => [file, []]))
  if (fresh.length > 0) {
    const answer = await askGit(
      [...fresh.flatMap((file) => ['-c', `include.path=${file}`]), 'config', ...LIST_ARGS],
      workspace,
      workspace,
    )
    if ('refused' in answer) return answer
    for (const setting of parseSettings(answer.output, workspace))
      if (setting.scope === 'command' && setting.file !== undefined)
        read.get(setting.file)?.push({ ...setting, scope: 'local' })
  }
  if (knownFiles.size + fresh.length > MAX_KNOWN_FILES) knownFiles.clear()
  for (const [file, settings] of read) {
    const stat = bigStat(file)
    if (stat && began - stat.ctimeNs > TICK_NS && fileState(file) === states.get(file))
      knownFiles.set(file, { settings, state: states.get(file)! })
  }
  return new Map(files.map((file) => [file, read.get(file) ?? knownFiles.get(file)?.settings ?? []]))
}

/** Returns the nearest folder upwards in which git may find a repository. */
function findNearestFolder(folder: string): string | undefined {
  if (isThere(join(folder, '.git')) || isGitFolder(folder)) return folder
  return dirname(folder) === folder ? undefined : findNearestFolder(dirname(folder))
}

/** Returns the name of a pipe or device among the files that git reads first: git would wait on it. */
export function findSpecialFile(folder: string): string | undefined {
  const { path, common } = isGitFolder(folder)
    ? resolveGitFolder(folder)
    : (findGitFolder(folder) ?? resolveGitFolder(join(folder, '.git')))
  const files = [
    join(folder, '.git'),
    ...new Set(
      [path, common].flatMap((place) =>
        ['HEAD', 'commondir', 'config', 'config.worktree', 'packed-refs'].map((name) => join(place, name)),
      ),
    ),
  ]
  const special = files.find((file) => isSpecial(bigStat(file)))
  return special && relative(folder, special)
}

const isSpecial = (stat: ReturnType<typeof bigStat>): boolean =>
  stat !== undefined && !stat.isFile() && !stat.isDirectory()

/** Parses scope, origin, and name with value of each setting. File names are relative to the working tree. */
function parseSettings(output: string, top: string): GitSetting[] {
  const parts = output.split('\0')
  const settings: GitSetting[] = []
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [scope, origin, text] = [parts[at]!, parts[at + 1]!, parts[at + 2]!]
    const end = text.indexOf('\n')
    const file = origin.startsWith('file:') ? resolve(top, origin.slice(5)) : undefined
    settings.push({
      scope,
      file,
      key: end < 0 ? text : text.slice(0, end),
      value: end < 0 ? 'true' : text.slice(end + 1),
    })
  }
  return settings
}

/** Lists the files that the answer depends on: files that git read or would read, and `.git` on the way up. */
function listDependencies(folder: string, { path, common, top, settings }: Repository): string[] {
  const dotGits: string[] = []
  for (let at = folder; ; at = dirname(at)) {
    dotGits.push(join(at, '.git'))
    if (at === top || dirname(at) === at) break
  }
  const own = ['HEAD', 'commondir', 'config', 'config.worktree', 'gitdir'].flatMap((name) => [
    join(path, name),
    join(common, name),
  ])
  return [...new Set([...dotGits, ...own, ...listSettingFiles(settings)])]
}

/** Lists settings files outside the repository and those that git names. */
function listSettingFiles(settings: readonly GitSetting[]): string[] {
  const users = [
    join(homedir(), '.gitconfig'),
    join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'git/config'),
  ]
  return [
    ...new Set([
      ...users,
      '/etc/gitconfig',
      ...settings.flatMap(({ file }) => file ?? []),
      ...settings.flatMap(resolveInclude),
    ]),
  ]
}

/** Returns the file that a setting includes. Git does not name an included file without settings anywhere else. */
function resolveInclude({ file, key, value }: GitSetting): string[] {
  if (key !== 'include.path' && !/^includeif\..*\.path$/s.test(key)) return []
  if (value.startsWith('~/')) return [join(homedir(), value.slice(2))]
  return [file === undefined ? value : resolve(dirname(file), value)]
}

function findCached<T>(answers: Map<string, CachedAnswer<T>>, key: string): CachedAnswer<T> | undefined {
  const before = answers.get(key)
  return before && readStates(before.files) === before.state ? before : undefined
}

function cacheAnswer<T>(
  answers: Map<string, CachedAnswer<T>>,
  key: string,
  value: T,
  files: string[],
  began: bigint,
): void {
  const newest = files
    .map((file) => bigStat(file))
    .reduce((latest, stat) => (stat && !stat.isDirectory() && stat.ctimeNs > latest ? stat.ctimeNs : latest), 0n)
  answers.delete(key)
  if (answers.size >= MAX_KNOWN) answers.clear()
  if (began - newest > TICK_NS) answers.set(key, { value, files, state: readStates(files) })
}

const readStates = (files: string[]): string => files.map((file) => fileState(file)).join()
