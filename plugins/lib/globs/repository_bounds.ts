import { dirname, join, relative } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { bigStat, findGitFolder, isThere } from '../git/index.js'

/** Size limit of an ignore file in bytes. */
export const MAX_RULE_BYTES = 2_097_152

/** Returns whether a folder is in a git repository: it or a folder above has a `.git` of any kind, as ripgrep asks. */
export function isInRepository(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (isThere(join(at, '.git'))) return true
    if (dirname(at) === at) return false
  }
}

/**
 * Reads `info/exclude` of the repository whose working tree starts at `folder`: that of the common folder in a linked
 * worktree, that of its own git folder in a submodule.
 */
export function readExcludeFile(folder: string): string | undefined {
  const found = findGitFolder(folder)
  return found && readRuleFile(join(found.common, 'info/exclude'))
}

/**
 * Reads `info/exclude` of the nearest repository whose `.git` is a file, as in linked worktrees and submodules: ripgrep
 * does not find it in each of them. `below` is the path of `folder` from the top of that repository.
 */
export function readLinkedExclude(folder: string): { text: string; below: string } | undefined {
  for (let top = folder; ; top = dirname(top)) {
    const git = bigStat(join(top, '.git'))
    if (git?.isFile()) {
      const text = readExcludeFile(top)
      return text === undefined ? undefined : { text, below: relative(top, folder) }
    }
    if (git || dirname(top) === top) return undefined
  }
}

/** Files outside the workspace are untrusted, so a pipe, a device and a large file are not read. */
export function readRuleFile(path: string): string | undefined {
  try {
    return readBytes(path, { limit: MAX_RULE_BYTES }).toString()
  } catch {
    return undefined
  }
}
