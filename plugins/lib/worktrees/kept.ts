import type { BigIntStats } from 'node:fs'
import { join } from 'node:path'
import { decodeName, encodeName } from '../../../core/system/index.js'
import { bigStat, findOutsideReference, findMisplacement, TICK_NS, type Repository } from '../git/index.js'
import { askStore, listFiles, together, type How, type TreePlaces } from './place.js'

/** What a repository has of the files of a folder, and where. */
export interface KeptFiles {
  /** Absolute: its objects. */
  objects: string
  /** When its index was written. */
  written_ns: bigint
  entries: ReadonlyMap<string, Entry>
}
interface Entry {
  /** As git writes it: `100644`, `100755`, and others that are no files. */
  mode: string
  oid: string
  /** What git knows of the file. */
  state: string
}

/**
 * What the index of a repository says of the files below a folder; nothing of those for which a filter or an encoding is named, nor where
 * the repository borrows objects from elsewhere or is not the one of its working tree. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function keptBy(repository: Repository, folder: string, how: How): Promise<KeptFiles | undefined> {
  if (findMisplacement(repository, repository.top) ?? findOutsideReference(repository, repository.top)) return undefined
  const written_ns = bigStat(join(repository.path, 'index'))?.mtimeNs ?? 0n
  const entries = entriesIn(
    await listFiles(folder, ['--stage', '--debug', '--', ':(attr:!filter !working-tree-encoding)'], how),
  )
  return { objects: join(repository.common, 'objects'), written_ns, entries }
}

/**
 * Takes into the index beside a worktree what need not be read, for the repository has these very bytes, and returns the paths. Its index is
 * believed as git believes it: it says which file it was and when that was changed, and both are so still, and long enough. What the
 * repository has is what git made of the file: as for the ends of lines, that is as long as the file only where nothing was changed.
 */
export async function takeKept(
  workspace: { root: string },
  place: TreePlaces,
  kept: KeptFiles,
  files: ReadonlyMap<string, BigIntStats>,
  how: How,
): Promise<Set<string>> {
  const believed = [...files].flatMap(([path, stat]) => {
    const entry = kept.entries.get(path)
    return entry &&
      stat.mtimeNs + TICK_NS < kept.written_ns &&
      entry.mode === modeOf(stat) &&
      entry.state === stateOf(stat)
      ? [{ path, bytes: stat.size, ...entry }]
      : []
  })
  if (believed.length === 0) return new Set()
  const lines = believed.flatMap(({ path, mode, oid }) => [
    Buffer.from(`${mode} ${oid}\t`),
    Buffer.from(decodeName(path)),
    Buffer.of(0),
  ])
  const input = Buffer.from(believed.map(({ oid }) => `${oid}\n`).join(''))
  const [sizes] = await together(
    askStore(workspace, place, ['cat-file', '--batch-check=%(objecttype) %(objectsize)'], {
      input,
      objects: kept.objects,
      ...how,
    }),
    askStore(workspace, place, ['update-index', '-z', '--index-info'], { input: Buffer.concat(lines), ...how }),
  )
  const found = sizes.toString().split('\n')
  return new Set(believed.flatMap(({ path, bytes }, at) => (found[at] === `blob ${bytes}` ? [path] : [])))
}

/** The entries that `ls-files` prints: mode, id, stage and name, and five lines of what git knows of the file. */
function entriesIn(output: Buffer): Map<string, Entry> {
  const entry = /(\d{6}) ([0-9a-f]+) (\d)\t([^\0]*)\0((?: {2}.*\n){5})/y
  const entries = new Map<string, Entry>()
  const text = output.toString('latin1')
  for (let found; (found = entry.exec(text));) {
    const [, mode, oid, stage, name, state] = found as unknown as [string, string, string, string, string, string]
    if (stage === '0') entries.set(encodeName(Buffer.from(name, 'latin1')), { mode, oid, state })
  }
  return entries
}

const modeOf = (stat: BigIntStats): string => (!stat.isFile() ? '' : stat.mode & 0o100n ? '100755' : '100644')
const second_ns = 1_000_000_000n
const short = (number: bigint): bigint => BigInt.asUintN(32, number)
const timeOf = (ns: bigint): string => `${short(ns / second_ns)}:${ns % second_ns}`
/** What git prints of a file that it has just looked at. A flag would say that it is not to look. */
const stateOf = ({ ctimeNs, mtimeNs, dev, ino, uid, gid, size }: BigIntStats): string =>
  `  ctime: ${timeOf(ctimeNs)}\n  mtime: ${timeOf(mtimeNs)}\n  dev: ${short(dev)}\tino: ${short(ino)}\n  uid: ${uid}\tgid: ${gid}\n  size: ${short(size)}\tflags: 0\n`
