import { lstatSync, readdirSync } from 'node:fs'
import { TICK_NS } from './file_state.js'

export interface FolderEntry {
  name: string
  isFolder: boolean
  isLink: boolean
}

const known = new Map<string, { changed: bigint; ino: bigint; entries: FolderEntry[] }>()
const MAX_KNOWN = 5000

/**
 * Lists the entries of a folder, cached until the folder changes; none if missing. A link to a folder has no entries.
 */
export function listEntries(folder: string): readonly FolderEntry[] {
  try {
    const stat = lstatSync(folder, { bigint: true })
    if (!stat.isDirectory()) return []
    const before = known.get(folder)
    if (before?.changed === stat.ctimeNs && before.ino === stat.ino) return before.entries
    const entries = readdirSync(folder, { withFileTypes: true }).map((entry) => ({
      name: entry.name,
      isFolder: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    }))
    if (known.size >= MAX_KNOWN) known.clear()
    if (BigInt(Date.now()) * 1_000_000n - stat.ctimeNs > TICK_NS)
      known.set(folder, { changed: stat.ctimeNs, ino: stat.ino, entries })
    return entries
  } catch {
    return []
  }
}
