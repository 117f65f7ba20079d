import { ok, VtError, type Handler } from '../../core/index.js'
import { mergeWorktree, findTreeChanges, findWorktree } from '../lib/worktrees/index.js'

/**
 * `agents/merge`: copies changed files from the worktree of an agent. The conversation passes every path, so that
 * policies and people can judge them.
 */
export default (async (call, context) => {
  const { worktree, paths } = call.input
  const tree = await findWorktree(context.workspace, worktree)
  if (!tree)
    throw new VtError({
      code: 'VT_AGENT_NO_WORKTREE',
      message: `There is no worktree '${worktree}'.`,
      hint: 'Close the agent without `merge`.',
      retryable: false,
    })
  const included = new Set(paths)
  const merged = await mergeWorktree(
    call,
    context,
    tree,
    (await findTreeChanges(context.workspace, tree)).filter(({ path }) => included.has(path)),
  )
  return ok(
    { changes: merged },
    { text: merged.map(({ op, path }) => `${op} ${path}`).join('\n') || 'There was nothing to merge.' },
  )
}) satisfies Handler<{ worktree: string; paths: string[] }>
