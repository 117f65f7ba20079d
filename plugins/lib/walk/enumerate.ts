import { problem } from '../../../core/shapes/index.js'
import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { cut, sortByPath } from '../base/index.js'
import { findGlobFault } from '../globs/index.js'
import type { WalkOptions } from './options.js'
import { Walk } from './walk.js'
import type { Entries, WalkTask } from './entries.js'

export interface Listing extends Pick<Entries, 'incomplete' | 'complaints'> {
  /** Workspace-relative, in path order. */
  files: string[]
}

/** Returns the files below a directory. */
export async function listFiles(context: Context, directory: Handle, discovery: WalkOptions): Promise<Listing> {
  const { files, ...found } = await listUnsortedFiles(context, directory, discovery)
  return { ...found, files: sortByPath(files, (path) => path) }
}

/** Returns the files below a directory in no order. */
export async function listUnsortedFiles(context: Context, directory: Handle, discovery: WalkOptions): Promise<Listing> {
  const { entries, incomplete, complaints } = await walkEntries(context, directory, discovery)
  return { files: entries.flatMap(({ path, kind }) => (kind === 'file' ? [path] : [])), incomplete, complaints }
}

/** Returns everything below a directory. Throws VT_INPUT_INVALID for a text that is no glob. */
export async function walkEntries(
  context: Context,
  directory: Handle,
  discovery: WalkOptions,
  task?: WalkTask,
): Promise<Entries> {
  for (const glob of discovery.globs ?? []) {
    const fault = findGlobFault(glob)
    if (fault === undefined) continue
    throw problem('VT_INPUT_INVALID', { problem: `'globs': '${cut(glob, 80).text}': ${fault}.` })
  }
  return new Walk(context, directory, discovery, task).start()
}

/** Returns whether a path below an open directory is visible, under the given name and under the resolved one. */
export function isVisible({ workspace }: Pick<Context, 'workspace'>, directory: Handle, path: string): boolean {
  if (!workspace.isVisible(path)) return false
  if (directory.path === directory.resolved) return true
  const below = directory.path === '.' ? path : path.slice(directory.path.length + 1)
  return workspace.isVisible(directory.resolved === '.' ? below : `${directory.resolved}/${below}`)
}
