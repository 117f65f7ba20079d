import { dirname, join } from 'node:path'
import { toRealPath } from '../../../core/system/index.js'
import { compileWildcard } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import type { ParsedCommand, Word } from '../shell/index.js'

/** Folder in which a word is resolved, relative to the workspace. */
export interface WorkingFolder {
  folder: string
  workspace: Workspace
}

/**
 * Checks whether a word stays in the workspace. A path that does not exist stays inside; a path that cannot be opened
 * is the program's business.
 */
export async function isWordInside(word: string, place: WorkingFolder): Promise<boolean> {
  const path = resolveWord(word, place)
  if (path === undefined) return false
  const { workspace } = place
  try {
    const stat = await workspace.stat(path)
    if (stat?.kind !== 'other') await (await workspace.open(path)).close()
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'VT_PATH_NOT_FOUND'
  }
}

const MAX_MATCHES = 2000
/** Checks whether a pattern in a word matches a link that leads out of the workspace. */
export async function canLeaveByLink(word: string, place: WorkingFolder): Promise<boolean> {
  const names = word.split('/')
  const first = names.findIndex((name) => PATTERN.test(name))
  let folders = [names.slice(0, first).join('/') || '.']
  for (const name of names.slice(first)) {
    const matches = compileWildcard(name.replace(/\[[^\]]*\]|\?/g, '*'))
    const inner = PATTERN.test(name)
      ? (await Promise.all(folders.map((folder) => listMatchingFolders(folder, matches, place)))).flat()
      : folders.map((folder) => `${folder}/${name}`)
    if (inner.length > MAX_MATCHES || (await Promise.all(inner.map((one) => isWordInside(one, place)))).includes(false))
      return true
    folders = inner
  }
  return false
}
const PATTERN = /[*?[]/

/** Returns the folders and links in a folder whose names match. */
async function listMatchingFolders(
  folder: string,
  matches: (name: string) => boolean,
  place: WorkingFolder,
): Promise<string[]> {
  const path = resolveWord(folder, place)
  const entries = path === undefined ? [] : await place.workspace.listNames(path).catch(() => [])
  return entries
    .filter(({ name, kind }) => (kind === 'link' || kind === 'directory') && matches(name))
    .map(({ name }) => `${folder}/${name}`)
}

/**
 * Returns every name by which a rule may match a file: as written, as a path of the workspace, and with links
 * resolved.
 */
export function listWordNames(word: string, place: WorkingFolder): string[] {
  const names = [word.replace(/^\.\//, '')]
  const path = resolveWord(word, place)
  return path === undefined ? names : [...names, path, place.workspace.resolve(path)]
}

const HOME = /^(~|\$HOME|\$\{HOME\})(?=\/|$)/
/** Checks whether a word is a plain path in the home of the user. */
export const isKnownHome = ({ text }: Word, { changesFolders }: ParsedCommand): boolean =>
  !changesFolders && HOME.test(text) && !/[*?[{}$`()~]/.test(text.replace(HOME, ''))
/** Returns the part of a word before the first name that only the run decides. */
export const toKnownFolder = (word: string): string => {
  const [home = ''] = HOME.exec(word) ?? []
  return home + word.slice(home.length).replace(/[^/]*[*?[{$`].*$/s, '') || '.'
}

/** Returns the absolute path that a word names in a folder, with links resolved where `..` follows them. */
export function resolveOnMachine(word: string, folder: string, home: string): string {
  const path = word.replace(HOME, () => home)
  let at = path.startsWith('/') ? '/' : folder
  for (const name of path.split('/')) at = name === '..' ? dirname(toRealPath(at)) : join(at, name)
  return at
}

/** Returns the absolute paths that a word names in a folder: as written, and with links resolved. */
export function listMachinePaths(word: string, folder: string, home: string): string[] {
  const path = resolveOnMachine(word, folder, home)
  return [path, toRealPath(path)]
}

/** Resolves a word to a path of the workspace without following its last part; `undefined` if it leads out. */
export function resolveWord(word: string, { folder, workspace }: WorkingFolder): string | undefined {
  try {
    const whole = word.startsWith('/') ? toRelativePath(word, workspace) : `${folder}/${word}`
    let at: string[] = []
    for (const segment of whole.split('/')) {
      if (segment === '..') {
        const real = at.length === 0 ? '.' : workspace.resolve(at.join('/'))
        if (real === '.') return undefined
        at = real.split('/').slice(0, -1)
      } else if (segment !== '' && segment !== '.') at.push(segment)
    }
    const path = workspace.normalize(at.join('/') || '.')
    workspace.resolve(path)
    return path
  } catch {
    return undefined
  }
}

function toRelativePath(word: string, workspace: Workspace): string {
  if (word.startsWith(`${workspace.root}/`)) return word.slice(workspace.root.length + 1)
  // The root may have another name, in which only the system can resolve `..`.
  return workspace.normalize(word.split('/').includes('..') ? '..' : word)
}
