import { join } from 'node:path'
import { encodeName } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { asInput, isLeftOut, partsIn, pathsIn, standsBelow } from './names.js'
import { askStore, copyIndex, noWorktree, type Worktree } from './place.js'

/** A file or a link as git keeps it: `100644`, `100755` or `120000`, and the id of its bytes. */
export interface TreeEntry {
  mode: string
  oid: string
}
/** A path that is other than it was when the worktree was made. */
export interface TreeChange {
  path: string
  /** As it was; absent where nothing was there. */
  before?: TreeEntry
  /** As it is; absent where nothing is there any more. */
  now?: TreeEntry
}

/** Whether a path is left out of what is merged: none of the files, or ours. Plans are for the workspace that they were made for. */
const isApart = (path: string): boolean => isLeftOut(path) || path.startsWith('.vtcode/')

/**
 * What was done in a worktree, by path: files added, changed and deleted, by whatever program. What is ignored is no part of it. Its own
 * repository is not looked at. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function treeChanges(
  workspace: Pick<Workspace, 'root'>,
  tree: Worktree,
  signal?: AbortSignal,
): Promise<TreeChange[]> {
  const how = { index: 'index.now', ...(signal && { signal }) }
  copyIndex(join(tree.store, 'index'), join(tree.store, how.index))
  const touched = pathsIn(
    await askStore(
      workspace,
      tree,
      ['ls-files', '-z', '--modified', '--deleted', '--others', '--exclude-standard'],
      how,
    ),
  )
  const paths = [...new Set(touched)].filter((path) => !isApart(path))
  if (paths.length === 0) return []
  const stands = standsBelow(tree.root)
  const [there, gone] = [paths.filter(stands), paths.filter((path) => !stands(path))]
  if (gone.length > 0)
    await askStore(workspace, tree, ['update-index', '--force-remove', '-z', '--stdin'], {
      ...how,
      input: asInput(gone),
    })
  if (there.length > 0)
    await askStore(workspace, tree, ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
      ...how,
      input: asInput(there),
    })
  const now = (await askStore(workspace, tree, ['write-tree'], how)).toString().trim()
  return changesIn(
    await askStore(workspace, tree, ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', tree.commit, now], how),
  ).filter(({ path }) => !isApart(path))
}

/** The lines of a raw difference: modes and ids, then the path, with NULs between them. */
function changesIn(output: Buffer): TreeChange[] {
  const parts = partsIn(output)
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

const mostBytes = 512 * 1024 * 1024

/** The bytes of these ids, as the repository beside the worktree keeps them. Throws VT_AGENT_NO_WORKTREE. */
export async function bytesOf(
  workspace: Pick<Workspace, 'root'>,
  tree: Worktree,
  oids: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  const asked = [...new Set(oids)]
  if (asked.length === 0) return found
  const output = await askStore(workspace, tree, ['cat-file', '--batch'], {
    input: Buffer.from(asked.map((oid) => `${oid}\n`).join('')),
    most: mostBytes,
    ...(signal && { signal }),
  })
  for (let at = 0; at < output.length;) {
    const end = output.indexOf(10, at)
    const [, oid, bytes] = /^([0-9a-f]+) blob (\d+)$/.exec(output.toString('latin1', at, end)) ?? []
    if (oid === undefined) throw noWorktree('a file as it was is lost')
    found.set(oid, output.subarray(end + 1, end + 1 + Number(bytes)))
    at = end + 1 + Number(bytes) + 1
  }
  return found
}
