import type { Context } from '../../../core/contract/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { findNamedPaths } from '../globs/index.js'
import { listNaming, listUnsortedFiles, walkEntries, type WalkOptions } from '../walk/index.js'

/** Arguments for ripgrep, whose ignore rules know no names that a glob spells. */
export interface NamedFiles {
  /** Left-out files and folders that globs spell, relative to the directory. */
  roots: string[]
  /** The files that count; absent if all count. */
  only?: Set<string>
}

/** Finds the hidden and ignored files that the globs of a search name outright. */
export async function findNamedFiles(context: Context, target: Handle, discovery: WalkOptions): Promise<NamedFiles> {
  const { include_hidden, include_ignored } = discovery
  if (target.kind === 'file' || (include_hidden && include_ignored)) return { roots: [] }
  const { hasSpelled, hasDots } = findNamedPaths(listNaming(discovery))
  const offset = target.path === '.' ? 0 : target.path.length + 1
  const spelled = hasSpelled ? (await walkEntries(context, target, discovery, { scope: 'spelled' })).spelled : []
  const roots = spelled.map((path) => path.slice(offset))
  if (!hasDots || include_hidden) return { roots }
  return { roots, only: new Set((await listUnsortedFiles(context, target, discovery)).files) }
}
