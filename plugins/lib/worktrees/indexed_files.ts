import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { decodeName, encodeName } from '../../../core/system/index.js'
import { bigStat, findOutsideReference, findMisplacement, TICK_NS, type Repository } from '../git/index.js'
import { queryStore, listRepositoryFiles, settleBoth, type GitOptions, type TreePaths } from './worktree.js'

/** Files of a folder that the index of a repository holds. */
export interface IndexedFiles {
  /** Absolute path of its objects. */
  objects: string
  /** Time of the last write of the index. */
  written_ns: bigint
  entries: ReadonlyMap<string, Entry>
}
interface Entry {
  /** Mode in git: `100644` and `100755` for files. */
  mode: string
  oid: string
  /** Stat data of the file in the index. */
  statText: string
}

/**
 * Reads the index entries of the files below a folder, without files that have a filter or an encoding. Returns
 * `undefined` if the repository borrows objects of another repository, or if it does not belong to its working tree.
 * Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function readIndexedFiles(
  repository: Repository,
  folder: string,
  how: GitOptions,
): Promise<IndexedFiles | undefined> {
  if (findMisplacement(repository, repository.top) ?? findOutsideReference(repository, repository.top)) return undefined
  const written_ns = bigStat(join(repository.path, 'index'))?.mtimeNs ?? 0n
  const entries = parseEntries(
    await listRepositoryFiles(folder, ['--stage', '--debug', '--', ':(attr:!filter !working-tree-encoding)'], how),
  )
  return { objects: join(repository.common, 'objects'), written_ns, entries }
}

/**
 * Adds to the index of a store the files whose bytes the repository already has. Returns the files whose object has the
 * right size; the caller must add all others. An entry is reused under the condition of git: the stat is unchanged and
 * older than the index. The size excludes files with converted line ends.
 */
export async function reuseIndexedFiles(
  workspace: { root: string },
  paths: TreePaths,
  indexed: IndexedFiles,
  files: ReadonlyMap<string, BigIntStats>,
  how: GitOptions,
): Promise<Set<string>> {
  const reusable = [...files].flatMap(([path, stat]) => {
    const entry = indexed.entries.get(path)
    return entry &&
      stat.mtimeNs + TICK_NS < indexed.written_ns &&
      entry.mode === toMode(stat) &&
      entry.statText === formatStat(stat)
      ? [{ path, bytes: stat.size, ...entry }]
      : []
  })
  if (reusable.length === 0) return new Set()
  const lines = reusable.flatMap(({ path, mode, oid }) => [
    Buffer.from(`${mode} ${oid}\t`),
    Buffer.from(decodeName(path)),
    Buffer.of(0),
  ])
  const input = Buffer.from(reusable.map(({ oid }) => `${oid}\n`).join(''))
  const [sizes] = await settleBoth(
    queryStore(workspace, paths, ['cat-file', '--batch-check=%(objecttype) %(objectsize)'], {
      input,
      objects: indexed.objects,
      ...how,
    }),
    queryStore(workspace, paths, ['update-index', '-z', '--index-info'], { input: Buffer.concat(lines), ...how }),
  )
  const found = sizes.toString().split('\n')
  return new Set(reusable.flatMap(({ path, bytes }, at) => (found[at] === `blob ${bytes}` ? [path] : [])))
}

/** Parses the output of `ls-files`: mode, id, stage and name, then five lines of stat data. */
function parseEntries(output: Buffer): Map<string, Entry> {
  const entry = /(\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0((?: {2}.*\n){5})/y
  const entries = new Map<string, Entry>()
  const text = output.toString('latin1')
  for (let found; (found = entry.exec(text));) {
    const [, mode, oid, stage, name, statText] = found as unknown as [string, string, string, string, string, string]
    if (stage === '0') entries.set(encodeName(Buffer.from(name, 'latin1')), { mode, oid, statText })
  }
  return entries
}

const toMode = (stat: BigIntStats): string => (!stat.isFile() ? '' : stat.mode & 0o100n ? '100755' : '100644')
const SECOND_NS = 1_000_000_000n
const toUint32 = (number: bigint): bigint => BigInt.asUintN(32, number)
const formatTime = (ns: bigint): string => `${toUint32(ns / SECOND_NS)}:${ns % SECOND_NS}`
/** Formats stat data as git prints it for an unchanged file. `flags` is 0: git does not check a flagged file. */
const formatStat = ({ ctimeNs, mtimeNs, dev, ino, uid, gid, size }: BigIntStats): string =>
  `  ctime: ${formatTime(ctimeNs)}\n  mtime: ${formatTime(mtimeNs)}\n` +
  `  dev: ${toUint32(dev)}\tino: ${toUint32(ino)}\n  uid: ${uid}\tgid: ${gid}\n` +
  `  size: ${toUint32(size)}\tflags: 0\n`
