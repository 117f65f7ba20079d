import { ok, type Result } from '../../../core/shapes/index.js'
import { pathPattern, shortLine } from '../../../core/text/index.js'
import { createHiddenFilter } from '../../../core/workspace/index.js'
import { worktreesFolder } from '../../../core/trust/index.js'
import {
  dropWorktree,
  makeWorktree,
  repositoryFor,
  treeChanges,
  worktreeAt,
  type MergedFile,
  type TreeChange,
  type Worktree,
} from '../../lib/worktrees/index.js'
import { AgentError, type ChildStatus } from '../base/index.js'
import { ownCall } from '../loop/index.js'
import { agentsTool } from './rights.js'
import type { DelegatingConversation } from './types.js'

/** What is in a worktree and not in the files of the conversation. */
interface Unmerged {
  tree: Worktree
  changes: TreeChange[]
}
const mostNamed = 20
const namedPaths = (paths: readonly string[]): string =>
  [...paths.slice(0, mostNamed), ...(paths.length > mostNamed ? [`and ${paths.length - mostNamed} more`] : [])].join(
    ', ',
  )

/** What is told of the end of a part: what was merged, and what of its worktree was not. */
export function endedText(
  { id, agent }: ChildStatus,
  left: readonly string[] | undefined,
  merged: readonly MergedFile[] | undefined,
): string {
  const paths = new Set(merged?.map(({ path }) => path))
  const lost = left?.filter((path) => !paths.has(path)) ?? []
  const lines = (merged ?? []).map(({ path, op, added, removed }) =>
    op === 'update' ? `M ${path} (+${added} -${removed})` : `${op === 'add' ? 'A' : 'D'} ${path}`,
  )
  const gone = lost.length > 0 ? [`Its worktree is removed; this was not merged: ${namedPaths(lost)}`] : []
  const end = !merged ? '.' : lines.length > 0 ? '; merged:' : '; there was nothing to merge.'
  return [`${id} (${agent}) is closed${end}`, ...lines, ...gone].join('\n')
}

/** The copies of the files that agents of a conversation work on. The folder of each has the name of its session. */
export class Worktrees {
  /** Those whose changes a person was told of. */
  private readonly told = new Set<string>()

  constructor(private readonly thread: DelegatingConversation) {}

  /** Throws VT_AGENT_NO_WORKTREE where none can be made. */
  async refuseImpossible(): Promise<void> {
    await repositoryFor(this.thread.workspace)
  }

  /** The worktree of an agent: as it left it, or a new one. Throws VT_AGENT_NO_WORKTREE. */
  async open({ session_id: id }: ChildStatus, signal: AbortSignal): Promise<Worktree> {
    const { kernel, workspace, session_id: session } = this.thread
    return (
      (await worktreeAt(workspace, id)) ??
      makeWorktree(workspace, { id, session, isHidden: createHiddenFilter(kernel.settings, workspace), signal })
    )
  }

  /** Where the worktree of an agent is, workspace-relative. */
  readonly pathOf = ({ session_id }: ChildStatus): string => `${worktreesFolder}/${session_id}`

  /** What is not merged, of the paths that are meant. Throws VT_AGENT_NO_WORKTREE for an agent that has none. */
  async unmerged(child: ChildStatus, only?: readonly string[]): Promise<Unmerged> {
    const tree = await worktreeAt(this.thread.workspace, child.session_id)
    if (!tree) {
      const why = child.isolation === 'worktree' ? 'its worktree is gone' : 'it works on the files of the conversation'
      throw new AgentError('VT_AGENT_NO_WORKTREE', `Nothing of ${child.id} (${child.agent}) can be merged: ${why}.`, {
        hint: 'Close it without merge.',
      })
    }
    const patterns = only?.map((glob) => pathPattern(glob))
    const changes = await treeChanges(this.thread.workspace, tree)
    return {
      tree,
      changes: patterns ? changes.filter(({ path }) => patterns.some((matches) => matches(path))) : changes,
    }
  }

  /** Brings what is meant of it here, judged by the policies as a change of these paths; a refusal is the result. Throws as `unmerged` does. */
  async merge(child: ChildStatus, only: readonly string[] | undefined, signal: AbortSignal): Promise<Result> {
    const paths = (await this.unmerged(child, only)).changes.map(({ path }) => path)
    return paths.length === 0
      ? ok({ changes: [] })
      : (await ownCall(this.thread, agentsTool, { action: 'merge', worktree: child.session_id, paths }, signal)).result
  }

  /** The paths of what is not merged; none where there is no worktree, `undefined` where nobody can say. */
  async left(child: ChildStatus): Promise<string[] | undefined> {
    if (!(await worktreeAt(this.thread.workspace, child.session_id))) return []
    return this.unmerged(child).then(
      ({ changes }) => changes.map(({ path }) => path),
      () => undefined,
    )
  }

  /** Removes the worktree of an agent with what is in it. */
  drop({ session_id }: ChildStatus): Promise<void> {
    return dropWorktree(this.thread.workspace, session_id)
  }

  /** Names what nobody merged, once. */
  async name(children: readonly ChildStatus[]): Promise<void> {
    for (const child of children.filter(
      ({ isolation, session_id }) => isolation === 'worktree' && !this.told.has(session_id),
    )) {
      const paths = await this.left(child)
      if (paths?.length === 0) continue
      this.told.add(child.session_id)
      const files = paths
        ? `${paths.length === 1 ? 'a file that was' : `${paths.length} files that were`} not merged: ${namedPaths(paths)}`
        : 'a worktree that git cannot read'
      await this.thread.remark(
        'VT_AGENT_UNMERGED',
        `${child.id} (${child.agent}${child.label === '' ? '' : `, ${shortLine(child.label, 80)}`}) has ${files}. It stays in ${this.pathOf(child)}.`,
      )
    }
  }

  /** Removes those in which nothing is left to merge. */
  async dropMerged(children: readonly ChildStatus[]): Promise<void> {
    for (const child of children)
      if (child.isolation === 'worktree' && (await this.left(child))?.length === 0) await this.drop(child)
  }
}
