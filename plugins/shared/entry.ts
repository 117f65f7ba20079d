import { problem, VtError, type Context, type EntryStat } from '../../core/index.js'
import type { Kept } from './history.js'
import { load, refuseStale } from './target.js'

/** An entry of the workspace that is about to be moved about, links as links. */
export interface Entry {
  path: string
  stat: EntryStat
  kind: 'file' | 'dir' | 'symlink'
  /** Of a file that can be kept: what it holds. */
  content?: Kept
}

const kinds = { file: 'file', directory: 'dir', link: 'symlink' } as const

/** What lies at `path`, checked against what this session knows of it; `undefined` if nothing does. Throws VT_FILE_STALE, VT_PATH_SPECIAL. */
export async function entryAt(path: string, expected: string | undefined, context: Context): Promise<Entry | undefined> {
  refuseRoot(path)
  const stat = await context.workspace.stat(path)
  if (!stat) return undefined
  if (stat.kind === 'other') throw problem('VT_PATH_SPECIAL', { path, kind: 'special file' })
  const kind = kinds[stat.kind]
  if (stat.kind !== 'file') return { path, stat, kind }
  const target = await load(path, context)
  refuseStale(path, target, expected, context)
  return { path, stat, kind, ...(target && { content: { sha256: target.version.sha256, mode: stat.mode, bytes: stat.bytes } }) }
}

/** The entry that must be there. Throws VT_PATH_NOT_FOUND with what is similar. */
export async function requiredEntry(path: string, expected: string | undefined, context: Context): Promise<Entry> {
  const entry = await entryAt(path, expected, context)
  if (entry) return entry
  // Opening says in full what is missing.
  const handle = await context.workspace.open(path)
  await handle.close()
  throw problem('VT_PATH_NOT_FOUND', { path })
}

/** What is in the way of a new name: nothing, or a file that may be replaced. Throws VT_PATH_EXISTS, VT_INPUT_CONFLICT. */
export async function freeName(from: Entry, to: string, overwrite: boolean, context: Context): Promise<Entry | undefined> {
  if (from.path === to || (from.kind === 'dir' && to.startsWith(`${from.path}/`))) {
    throw problem('VT_INPUT_CONFLICT', { fields: `path '${from.path}' and destination '${to}'` }, { hint: 'Nothing can be put into itself; name another destination.' })
  }
  const there = await entryAt(to, undefined, context)
  if (there?.kind === 'dir') throw exists(to, `'${to}' is a directory: give the full new name, for example '${to}/${from.path.split('/').at(-1)}'.`)
  if (there && (!overwrite || from.kind === 'dir')) throw exists(to, from.kind === 'dir' ? 'Choose another name.' : 'Choose another name, or give overwrite: true to replace the file.')
  return there
}

export function refuseRoot(path: string): void {
  if (path === '.') throw problem('VT_INPUT_INVALID', { problem: "'.' is the workspace itself; name something inside it." })
}

const exists = (path: string, hint: string): VtError => problem('VT_PATH_EXISTS', { path }, { hint })
