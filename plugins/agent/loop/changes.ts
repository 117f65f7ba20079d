import type { JsonObject, SlotInfo } from '../../../core/shapes/index.js'
import type { FileChange } from '../base/index.js'

const kinds: Record<string, FileChange['kind']> = { add: 'add', delete: 'delete', update: 'update' }

// A copy leaves its source in place; a move does not.
const moving = new Set(['unified_file/move'])

/** Lists the file changes that a call reports, if its slot reports changes. */
export function listReportedChanges(slot: SlotInfo | undefined, output: JsonObject): FileChange[] {
  if (!slot?.reports_changes) return []
  if (output['dry_run'] === true) return []
  if (Array.isArray(output['changes'])) {
    const changes = output['changes'] as { path: string; op: string; added: number; removed: number }[]
    return changes.map(({ path, op, added, removed }) => ({
      path,
      kind: kinds[op] ?? 'update',
      added_lines: added,
      removed_lines: removed,
    }))
  }
  const { from, to, path } = output as { from?: string; to?: string; path?: string }
  if (from !== undefined && to !== undefined) {
    const target: FileChange = { path: to, kind: output['overwritten'] === true ? 'update' : 'add' }
    return moving.has(slot.slot) ? [{ path: from, kind: 'delete' }, target] : [target]
  }
  if (path === undefined) return []
  if (output['deleted'] === true) return [{ path, kind: 'delete' }]
  if (output['skipped'] === true) return []
  if ('bytes_written' in output) return [{ path, kind: output['created'] === true ? 'add' : 'update' }]
  return 'replacements' in output ? [{ path, kind: 'update' }] : []
}
