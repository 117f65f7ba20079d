import type { JsonObject } from '../../../../core/index.js'
import type { FileChange } from '../types.js'

const kinds: Record<string, FileChange['kind']> = { add: 'add', delete: 'delete', update: 'update' }

/** The files that a call of a changing tool says it changed. */
export function changesOf(tool: string, input: JsonObject, output: JsonObject): FileChange[] {
  if (tool !== 'unified_file' && tool !== 'apply_patch') return []
  if (output['dry_run'] === true) return []
  if (Array.isArray(output['changes'])) {
    return (output['changes'] as { path: string; op: string }[]).map(({ path, op }) => ({ path, kind: kinds[op] ?? 'update' }))
  }
  const { from, to, path } = output as { from?: string; to?: string; path?: string }
  if (from !== undefined && to !== undefined) return [...(input['action'] === 'move' ? [{ path: from, kind: 'delete' as const }] : []), { path: to, kind: 'add' }]
  if (path === undefined) return []
  if (output['deleted'] === true) return [{ path, kind: 'delete' }]
  if ('bytes_written' in output) return [{ path, kind: output['created'] === true ? 'add' : 'update' }]
  return 'replacements' in output ? [{ path, kind: 'update' }] : []
}
