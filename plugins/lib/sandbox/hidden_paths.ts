import { readdirSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../../../core/shapes/index.js'
import { resolveUserFolder } from '../../../core/system/index.js'
import { createHiddenFilter } from '../../../core/workspace/index.js'

interface HiddenPathsOptions {
  settings: Pick<Settings, 'policy'>
  workspace: string
  env: Readonly<Record<string, string | undefined>>
}

/** The folders that a search enters, and the paths that it finds, at most. */
const [MAX_FOLDERS, MAX_HIDDEN] = [5_000, 500]
/** Folders of packages and of git are too large to search at each start. */
const SKIPPED = ['node_modules', '.git']

/**
 * Lists the absolute paths that rules of policy.deny hide. Where that takes too long, the whole workspace is hidden.
 */
export function listHiddenPaths({ settings, workspace: root, env }: HiddenPathsOptions): string[] {
  const isHidden = createHiddenFilter(settings, { root, user: resolveUserFolder({ env }) })
  const hidden: string[] = []
  const folders = isHidden ? ['.'] : []
  for (let next = 0; isHidden && next < folders.length; next += 1) {
    if (next === MAX_FOLDERS || hidden.length > MAX_HIDDEN) return [root]
    for (const entry of readEntries(join(root, folders[next]!))) {
      const path = folders[next] === '.' ? entry.name : `${folders[next]}/${entry.name}`
      if (isHidden(path)) hidden.push(join(root, path))
      else if (entry.isDirectory() && !SKIPPED.includes(entry.name)) folders.push(path)
    }
  }
  return hidden
}

function readEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
