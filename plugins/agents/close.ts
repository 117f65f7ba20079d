import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

/** `agents/close`: ends an agent, with `merge` after its changes came into the files here. Those are judged path by path, as one patch would be. */
export default (async ({ input: { id, merge = false } }, context) => {
  const parts = partsOf(context)
  if (merge === false) return parts.close(id)
  const { changes } = await parts.unmerged(id, merge === true ? undefined : merge)
  const paths = changes.map(({ path }) => path)
  if (paths.length === 0) return parts.close(id, [])
  const merged = await context.call(context.slot.tool, { action: 'merge', id, paths })
  return merged.ok ? parts.close(id, merged.output['changes'] as never) : merged
}) satisfies Handler<{ id: string; merge?: boolean | string[] }>
