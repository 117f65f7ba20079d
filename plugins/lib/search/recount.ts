import { statfs } from 'node:fs/promises'
import type { Context } from '../../../core/kernel/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { countsIn } from './counts.js'
import { FoldersBelow } from './doubts.js'
import { gone } from './entries.js'
import type { Counted } from './first_matches.js'
import { ripgrep } from './ripgrep.js'
import { matching, seconds, type Pattern } from './pattern.js'

/** Files that are open at the same time, and how many are looked into again at most. */
const batch = 200
const most = 5000

export interface Recount {
  files: Counted[]
  /** There are too many to be looked into again. */
  incomplete: boolean
  /** All that ripgrep read lies in the workspace. */
  sure: boolean
}

/** Counts again what ripgrep may have found outside the workspace, in files that are opened by us. */
export async function recounted(context: Context, directory: Handle, pattern: Pattern, told: Counted[], since: number): Promise<Recount> {
  const folders = new FoldersBelow(directory)
  for (const { file } of told) folders.found(file)
  const { doubtful, one_device } = folders.doubts('contents', since)
  if (!doubtful) return { files: told, incomplete: false, sure: one_device && (await isLocal(directory)) }
  const files = told.filter(({ file }) => !doubtful(file))
  const others = told.filter(({ file }) => doubtful(file))
  for (let at = 0; at < Math.min(most, others.length); at += batch) files.push(...(await countHeld(context, pattern, others.slice(at, at + batch))))
  return { files, incomplete: others.length > most, sure: false }
}

/** Linux's `f_type` of file systems whose times are of this machine's clock (statfs(2)): ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, overlayfs. */
const local = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0xca451a4e, 0x01021994, 0x794c7630])

/** Whether times of change are those of our own clock; those of a server may be older than the change. */
async function isLocal(directory: Handle): Promise<boolean> {
  const { type } = await statfs(directory.ref)
  // What is above 2^31 may come with a sign.
  return local.has(type >>> 0)
}

async function countHeld(context: Context, pattern: Pattern, files: Counted[]): Promise<Counted[]> {
  const held = new Map<string, { told: Counted; handle: Handle }>()
  const chunks: Buffer[] = []
  await using opener = context.workspace.files()
  try {
    for (const told of files) {
      const handle = await opener.openFile(told.file).catch(gone)
      if (handle) held.set(handle.ref, { told, handle })
    }
    if (held.size === 0) return []
    const args = ['--count', '--null', '--with-filename', ...matching(pattern), '--', ...held.keys()]
    await ripgrep('named files', args, { signal: context.signal, seconds }, (chunk) => void chunks.push(chunk))
    const { files: counted } = countsIn(Buffer.concat(chunks), String)
    return counted.flatMap(({ file: ref, count }) => {
      const { told } = held.get(ref)!
      return count === told.count ? [told] : [{ file: told.file, count }]
    })
  } finally {
    for (const { handle } of held.values()) await handle.close()
  }
}
