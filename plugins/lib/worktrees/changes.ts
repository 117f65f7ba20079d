import { join } from 'node:path'
import { encodeName } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { toInput, isExcluded, splitNul, parsePaths, createFileStat } from './names.js'
import { queryStore, copyIndex, noWorktree, type Worktree } from './worktree.js'

/** A file or a link in git: mode `100644`, `100755` or `120000`, and the id of its bytes. */
export interface TreeEntry {
  mode: string
  oid: string
}
/** A path that changed since the worktree was created. */
export interface TreeChange {
  path: string
  /** State at creation; absent for a new path. */
  before?: TreeEntry
  /** Current state; absent for a deleted path. */
  now?: TreeEntry
}

/** Returns whether a path is never merged. Plans in `.vtcode/` belong to the workspace that they were made for. */
const isUnmerged = (path: string): boolean => isExcluded(path) || path.startsWith('.vtcode/')

/**
 * Finds the files that were added, changed and deleted in a worktree, without ignored files. Does not read the
 * repository in the worktree. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function findTreeChanges(
  workspace: Pick<Workspace, 'root'>,
  tree: Worktree,
  signal?: AbortSignal,
): Promise<TreeChange[]> {
  const how = { index: 'index.now', ...(signal && { signal }) }
  copyIndex(join(tree.store, 'index'), join(tree.store, how.index))
  const touched = parsePaths(
    await queryStore(
      workspace,
      tree,
      ['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard'],
      how,
    ),
  )
  const paths = [...new Set(touched)].filter((path) => !isUnmerged(path))
  if (paths.length === 0) return []
  const exists = createFileStat(tree.root)
  const [existing, missing] = [paths.filter(exists), paths.filter((path) => !exists(path))]
  if (missing.length > 0)
    await queryStore(workspace, tree, ['update-index', '--force-remove', '-z', '--stdin'], {
      ...how,
      input: toInput(missing),
    })
  if (existing.length > 0)
    await queryStore(workspace, tree, ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
      ...how,
      input: toInput(existing),
    })
  const now = (await queryStore(workspace, tree, ['write-tree'], how)).toString().trim()
  return parseChanges(
    await queryStore(workspace, tree, ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', tree.commit, now], how),
  ).filter(({ path }) => !isUnmerged(path))
}

/** Parses a raw difference: modes and ids, then the path, separated by NULs. */
function parseChanges(output: Buffer): TreeChange[] {
  const parts = splitNul(output)
  const changes: TreeChange[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, was, is, from, to] = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) /.exec(parts[at]!.toString()) ?? []
    if (was === undefined) throw noWorktree('git printed a difference that cannot be read')
    changes.push({
      path: encodeName(parts[at + 1]!),
      ...(was !== '000000' && { before: { mode: was, oid: from! } }),
      ...(is !== '000000' && { now: { mode: is!, oid: to! } }),
    })
  }
  return changes
}

const MAX_BYTES = 512 * 1024 * 1024

/** Reads the bytes of these ids from the store of the worktree. Throws VT_AGENT_NO_WORKTREE. */
export async function readBlobs(
  workspace: Pick<Workspace, 'root'>,
  tree: Worktree,
  oids: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  const uniqueOids = [...new Set(oids)]
  if (uniqueOids.length === 0) return found
  const output = await queryStore(workspace, tree, ['cat-file', '--batch'], {
    input: Buffer.from(uniqueOids.map((oid) => `${oid}\n`).join('')),
    most: MAX_BYTES,
    ...(signal && { signal }),
  })
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(10, at)
    const [, oid, bytes] = /^([0-9a-f]+) blob (\d+)$/.exec(output.toString('latin1', at, end)) ?? []
    if (oid === undefined) throw noWorktree('the original version of a file is missing')
    found.set(oid, output.subarray(end + 1, end + 1 + Number(bytes)))
    at = end + 1 + Number(bytes) + 1
  }
  return found
}
