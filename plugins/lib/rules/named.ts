import { wildcard } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'

/** Where a word is read: the folder of the command, relative to the workspace. */
export interface WorkingFolder {
  folder: string
  workspace: Workspace
}

/** Whether a word leads to nothing outside. What does not exist cannot lead out, what cannot be opened is left to the program. */
export async function isInside(word: string, place: WorkingFolder): Promise<boolean> {
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
/** Whether a pattern in a word meets a link that leads out: who lists what the shell puts in its place goes through it. */
export async function canLeaveByLink(word: string, place: WorkingFolder): Promise<boolean> {
  const names = word.split('/')
  const first = names.findIndex((name) => PATTERN.test(name))
  let folders = [names.slice(0, first).join('/') || '.']
  for (const name of names.slice(first)) {
    const matches = wildcard(name.replace(/\[[^\]]*\]|\?/g, '*'))
    const inner = PATTERN.test(name)
      ? (await Promise.all(folders.map((folder) => listMatchingFolders(folder, matches, place)))).flat()
      : folders.map((folder) => `${folder}/${name}`)
    if (inner.length > MAX_MATCHES || (await Promise.all(inner.map((one) => isInside(one, place)))).includes(false))
      return true
    folders = inner
  }
  return false
}
const PATTERN = /[*?[]/

/** The folders and links in a folder whose names match. */
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

/** Every name by which a rule may know the file: as it is written, as it lies in the workspace, and where links lead. */
export function listWordNames(word: string, place: WorkingFolder): string[] {
  const names = [word.replace(/^\.\//, '')]
  const path = resolveWord(word, place)
  return path === undefined ? names : [...names, path, place.workspace.resolve(path)]
}

/** The way of a word through the workspace, its last part not followed; `undefined` when it leads out. */
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
  // Under another name of the root; what `..` is there, only the system knows.
  return workspace.normalize(word.split('/').includes('..') ? '..' : word)
}
