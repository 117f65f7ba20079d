import { ok, type Result } from '../../../core/shapes/index.js'
import { compilePathPattern, truncateLine } from '../../../core/text/index.js'
import { createHiddenFilter } from '../../../core/workspace/index.js'
import { WORKTREES_FOLDER } from '../../../core/trust/index.js'
import {
  dropWorktree,
  createWorktree,
  requireRepository,
  findTreeChanges,
  findWorktree,
  type MergedFile,
  type TreeChange,
  type Worktree,
} from '../../lib/worktrees/index.js'
import { AgentError, type ChildStatus } from '../base/index.js'
import { makeOwnCall } from '../loop/index.js'
import { AGENTS_TOOL } from './rights.js'
import type { DelegatingConversation } from './types.js'

/** The changes of a worktree that the files of the conversation lack. */
interface UnmergedChanges {
  tree: Worktree
  changes: TreeChange[]
}
const MAX_NAMED = 20
const formatPaths = (paths: readonly string[]): string =>
  [...paths.slice(0, MAX_NAMED), ...(paths.length > MAX_NAMED ? [`and ${paths.length - MAX_NAMED} more`] : [])].join(
    ', ',
  )

/** Formats the end of a part: the merged and the lost changes of its worktree. */
export function formatClosing(
  { id, agent }: ChildStatus,
  left: readonly string[] | undefined,
  merged: readonly MergedFile[] | undefined,
): string {
  const paths = new Set(merged?.map(({ path }) => path))
  const lost = left?.filter((path) => !paths.has(path)) ?? []
  const lines = (merged ?? []).map(({ path, op, added, removed }) =>
    op === 'update' ? `M ${path} (+${added} -${removed})` : `${op === 'add' ? 'A' : 'D'} ${path}`,
  )
  const gone = lost.length > 0 ? [`Its worktree is removed; not merged: ${formatPaths(lost)}`] : []
  const end = !merged ? '.' : lines.length > 0 ? '; merged:' : '; there was nothing to merge.'
  return [`${id} (${agent}) is closed${end}`, ...lines, ...gone].join('\n')
}

/** The worktrees of the agents of a conversation. The folder of each has the id of the session. */
export class Worktrees {
  /** Sessions whose unmerged changes a notice has named. */
  private readonly remarkedSessions = new Set<string>()

  constructor(private readonly thread: DelegatingConversation) {}

  /** Throws VT_AGENT_NO_WORKTREE if no worktree can be created. */
  async requirePossible(): Promise<void> {
    await requireRepository(this.thread.workspace)
  }

  /** Opens the existing worktree of an agent, or creates one. Throws VT_AGENT_NO_WORKTREE. */
  async open({ session_id: id }: ChildStatus, signal: AbortSignal): Promise<Worktree> {
    const { kernel, workspace, session_id: session } = this.thread
    return (
      (await findWorktree(workspace, id)) ??
      createWorktree(workspace, { id, session, isHidden: createHiddenFilter(kernel.settings, workspace), signal })
    )
  }

  /** Returns the workspace-relative path of the worktree of an agent. */
  readonly toPath = ({ session_id }: ChildStatus): string => `${WORKTREES_FOLDER}/${session_id}`

  /**
   * Finds the unmerged changes, limited to the globs `only`. Throws VT_AGENT_NO_WORKTREE for an agent without a
   * worktree.
   */
  async findUnmerged(child: ChildStatus, only?: readonly string[]): Promise<UnmergedChanges> {
    const tree = await findWorktree(this.thread.workspace, child.session_id)
    if (!tree) {
      const why =
        child.isolation === 'worktree' ? 'its worktree no longer exists' : 'it works on the files of the conversation'
      throw new AgentError('VT_AGENT_NO_WORKTREE', `Nothing of ${child.id} (${child.agent}) can be merged: ${why}.`, {
        hint: 'Close it without merge.',
      })
    }
    const patterns = only?.map((glob) => compilePathPattern(glob))
    const changes = await findTreeChanges(this.thread.workspace, tree)
    return {
      tree,
      changes: patterns ? changes.filter(({ path }) => patterns.some((matches) => matches(path))) : changes,
    }
  }

  /**
   * Merges all changes, or the changes in the globs `only`. The policies judge them as a change of these paths; a
   * refusal is the result. Throws the same codes as `findUnmerged`.
   */
  async merge(child: ChildStatus, only: readonly string[] | undefined, signal: AbortSignal): Promise<Result> {
    const paths = (await this.findUnmerged(child, only)).changes.map(({ path }) => path)
    return paths.length === 0
      ? ok({ changes: [] })
      : (await makeOwnCall(this.thread, AGENTS_TOOL, { action: 'merge', worktree: child.session_id, paths }, signal))
          .result
  }

  /** Lists the paths of unmerged changes; empty without a worktree, `undefined` if git cannot read it. */
  async listUnmerged(child: ChildStatus): Promise<string[] | undefined> {
    if (!(await findWorktree(this.thread.workspace, child.session_id))) return []
    return this.findUnmerged(child).then(
      ({ changes }) => changes.map(({ path }) => path),
      () => undefined,
    )
  }

  /** Removes the worktree of an agent with its content. */
  drop({ session_id }: ChildStatus): Promise<void> {
    return dropWorktree(this.thread.workspace, session_id)
  }

  /** Shows a notice about unmerged changes, once for each agent. */
  async remarkUnmerged(children: readonly ChildStatus[]): Promise<void> {
    for (const child of children.filter(
      ({ isolation, session_id }) => isolation === 'worktree' && !this.remarkedSessions.has(session_id),
    )) {
      const paths = await this.listUnmerged(child)
      if (paths?.length === 0) continue
      this.remarkedSessions.add(child.session_id)
      const files = paths
        ? `${paths.length === 1 ? '1 unmerged file' : `${paths.length} unmerged files`}: ${formatPaths(paths)}`
        : 'a worktree that git cannot read'
      const who = [child.agent, truncateLine(child.label, 80)].filter(Boolean).join(', ')
      await this.thread.remark(
        'VT_AGENT_UNMERGED',
        `${child.id} (${who}) has ${files}. It stays in ${this.toPath(child)}.`,
      )
    }
  }

  /** Removes worktrees without unmerged changes. */
  async dropMerged(children: readonly ChildStatus[]): Promise<void> {
    for (const child of children)
      if (child.isolation === 'worktree' && (await this.listUnmerged(child))?.length === 0) await this.drop(child)
  }
}
