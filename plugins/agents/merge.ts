import { ok, type Handler } from '../../core/index.js'
import { mergeWorktree } from '../lib/worktrees/index.js'
import { partsOf } from './parts.js'

/** `agents/merge`: what the conversation calls where an agent is closed with `merge`, with every path, so that policies and people judge those. */
export default (async (call, context) => {
  const { id, paths } = call.input
  const { tree, changes } = await partsOf(context).unmerged(id)
  const meant = new Set(paths)
  const merged = await mergeWorktree(call, context, tree, changes.filter(({ path }) => meant.has(path)))
  return ok({ changes: merged }, { text: merged.map(({ op, path }) => `${op} ${path}`).join('\n') || 'There was nothing to merge.' })
}) satisfies Handler<{ id: string; paths: string[] }>
