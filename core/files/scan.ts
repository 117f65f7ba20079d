import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { setImmediate as yieldTurn } from 'node:timers/promises'
import { decodeName, encodeName, errno } from '../system/index.js'
import type { Directory } from './directory.js'

/** Number of entries after which a scan lets other work of the process run. */
const ENTRIES_PER_TURN = 20_000

/**
 * Calls `visit` with the `lstat` of each entry below a directory, parents first. `visit` returns whether a directory is
 * entered. No content is read and no link followed; a folder that is swapped meanwhile can add names from elsewhere,
 * so readers of contents walk to each path again. Folders that cannot be read are returned, and names that vanish are
 * left out.
 */
export async function scanTree(
  root: Directory,
  visit: (path: string, stats: Stats) => boolean,
): Promise<{ unreadable: string[] }> {
  const unreadable: string[] = []
  const top = String(root.pathTo('.')).replace(/\/?\.?$/, '/')
  const folders = ['']
  let left = ENTRIES_PER_TURN
  for (let prefix; (prefix = folders.pop()) !== undefined;) {
    const here = top + prefix
    for (const name of listNames(here, prefix, unreadable)) {
      const stats = statEntry(here, name)
      if (stats && visit(prefix + name, stats)) folders.push(`${prefix}${name}/`)
      left--
    }
    if (left > 0) continue
    left = ENTRIES_PER_TURN
    await yieldTurn()
  }
  return { unreadable }
}

/** Lists the names in a folder; `here` is its path and ends with a slash. */
function listNames(here: string, prefix: string, unreadable: string[]): string[] {
  const folder = toPath(here)
  try {
    const names = readdirSync(folder, 'utf8')
    // Names that are not UTF-8, or look like an escape of such a name, need their bytes.
    for (const name of names)
      if (name.includes('\ufffd') || name.includes('\\x')) return readdirSync(folder, 'buffer').map(encodeName)
    return names
  } catch (error) {
    if (errno(error) === 'EACCES') unreadable.push(prefix.slice(0, -1) || '.')
    return []
  }
}

function statEntry(here: string, name: string): Stats | undefined {
  try {
    return lstatSync(toPath(here + name), { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Converts a path with escapes of names that are not UTF-8 to its bytes. */
function toPath(path: string): string | Buffer {
  if (!path.includes('\\x')) return path
  const names = path.split('/').map((name) => Buffer.from(decodeName(name)))
  return Buffer.concat(names.flatMap((name, index) => (index === 0 ? [name] : [Buffer.from('/'), name])))
}
