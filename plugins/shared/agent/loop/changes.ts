import type { JsonObject } from '../../../../core/index.js'
import type { FileChange } from '../types.js'

const kinds: Record<string, FileChange['kind']> = { add: 'add', delete: 'delete', update: 'update' }

/** The files that a call of a changing tool says it changed; lines are counted where the tool counts them. */
export function changesOf(tool: string, input: JsonObject, output: JsonObject): FileChange[] {
  if (tool !== 'unified_file' && tool !== 'apply_patch') return []
  if (output['dry_run'] === true) return []
  if (Array.isArray(output['changes'])) {
    const changes = output['changes'] as { path: string; op: string; added: number; removed: number }[]
    return changes.map(({ path, op, added, removed }) => ({ path, kind: kinds[op] ?? 'update', added_lines: added, removed_lines: removed }))
  }
  const { from, to, path } = output as { from?: string; to?: string; path?: string }
  if (from !== undefined && to !== undefined) return [...(input['action'] === 'move' ? [{ path: from, kind: 'delete' as const }] : []), { path: to, kind: 'add' }]
  if (path === undefined) return []
  if (output['deleted'] === true) return [{ path, kind: 'delete' }]
  if ('bytes_written' in output) return [output['created'] === true ? { path, kind: 'add', added_lines: output['total_lines'] as number, removed_lines: 0 } : { path, kind: 'update' }]
  return 'replacements' in output ? [{ path, kind: 'update', ...countedIn(output['diff']) }] : []
}

/** The lines that a diff adds and removes, unless it was cut. */
function countedIn(diff: unknown): Pick<FileChange, 'added_lines' | 'removed_lines'> {
  if (typeof diff !== 'string' || !diff.startsWith('---')) return {}
  const lines = diff.split('\n').slice(2)
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length
  return lines.some((line) => line !== '' && !/^[-+ @\\]/.test(line)) ? {} : { added_lines: count('+'), removed_lines: count('-') }
}
