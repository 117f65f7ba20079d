import type { OpenWorkspace } from '../../../core/workspace/index.js'
import { truncateLine } from '../../../core/text/index.js'

/** Rows of a tree; the rest is counted. */
const MAX_ROWS = 400

export const formatBytes = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${(bytes / 1024).toFixed(1)} KiB`
      : bytes < 1024 ** 3
        ? `${(bytes / 1024 ** 2).toFixed(1)} MiB`
        : `${(bytes / 1024 ** 3).toFixed(1)} GiB`

/** Entries that a call would delete. */
export interface DeletedTree {
  /** Entry with its number of entries and bytes. */
  summary: string
  rows: string[]
}

/** Lists an entry and everything below it with sizes; a link is listed as a link. `undefined` for a missing entry. */
export async function listDeletedTree(workspace: OpenWorkspace, path: string): Promise<DeletedTree | undefined> {
  const stat = await workspace.stat(path)
  if (!stat) return undefined
  if (stat.kind !== 'directory') return { summary: stat.kind === 'link' ? 'a link' : formatBytes(stat.bytes), rows: [] }
  const { entries, bytes } = await workspace.measure(path)
  const rows: string[] = []
  await addRows(workspace, path, '', rows)
  const left = entries - rows.length
  if (left > 0) rows.push(`… and ${left} more`)
  return { summary: `${entries} ${entries === 1 ? 'entry' : 'entries'}, ${formatBytes(bytes)}`, rows }
}

async function addRows(workspace: OpenWorkspace, path: string, indent: string, rows: string[]): Promise<void> {
  for (const { name, kind } of await workspace.listNames(path)) {
    if (rows.length >= MAX_ROWS) return
    const below = `${path}/${name}`
    const size = kind === 'file' ? `  ${formatBytes((await workspace.stat(below))?.bytes ?? 0)}` : ''
    rows.push(`${indent}${truncateLine(name, 200)}${kind === 'directory' ? '/' : kind === 'link' ? '  link' : size}`)
    if (kind === 'directory') await addRows(workspace, below, `${indent}  `, rows)
  }
}
