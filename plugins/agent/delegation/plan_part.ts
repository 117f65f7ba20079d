import { definedOnly } from '../../../core/shapes/index.js'
import { shortLine } from '../../../core/text/index.js'
import { callsFolder } from '../../lib/state/index.js'
import { AgentError, type ChildStatus } from '../base/index.js'
import { overlapOf } from './claims.js'
import { findAgents, namedAgent, type AgentDefinition } from './find.js'
import { childRights, type ChildRights } from './rights.js'
import type { ChildPlan, DelegatingConversation, GivenPart } from './types.js'

interface Placed {
  depth: number
  delegates: boolean
  /** Parts that are not over. */
  others: readonly ChildStatus[]
}

export interface PlannedPart {
  /** Without the name that it gets when it begins. */
  child: Omit<ChildStatus, 'id'>
  plan: ChildPlan
  text: string
  /** What of its definition does not count, where that came with the repository. */
  untrusted?: string
}

/** Plans a part. Throws VT_AGENT_UNKNOWN, VT_AGENT_NEEDS_WORKTREE, VT_AGENT_PATH_CLAIMED. */
export function planPart(
  thread: DelegatingConversation,
  given: GivenPart,
  { depth, delegates, others }: Placed,
): PlannedPart {
  const found = findAgents(thread.kernel, thread.providers.env)
  const agent = namedAgent(found, given.agent ?? 'worker')
  const { write_paths, isolation = agent.isolation } = given
  const rights = childRights(thread.kernel, thread, agent, { delegates, ...(write_paths && { write_paths }) })
  const claim = claimOf(agent, rights, { write_paths, isolation }, others)
  const session_id = thread.newId('ses')
  const thread_id = thread.newId('th')
  const child: PlannedPart['child'] = {
    session_id,
    thread_id,
    depth,
    agent: agent.name,
    label: shortLine(given.label ?? '', 80),
    about: shortLine(given.message, 160),
    status: 'queued',
    background: given.background ?? agent.background,
    isolation,
    ...(claim && { write_paths: [...claim] }),
    created_at: new Date(thread.providers.clock.now()).toISOString(),
    cost_usd: 0,
    transcript_path: `${callsFolder}/${session_id}/messages.jsonl`,
  }
  const said =
    agent.model === 'small' ? thread.settings.agent.small_model : agent.model === 'inherit' ? undefined : agent.model
  const model = given.model ?? said
  const max_answers = Math.min(given.max_turns ?? Infinity, agent.max_turns ?? Infinity)
  const limit = max_answers < Infinity && { max_answers }
  const plan: ChildPlan = {
    session_id,
    thread_id,
    goes_on: false,
    agent,
    rights,
    depth,
    ...definedOnly({ model }),
    ...limit,
  }
  const untrusted = agent.trusted
    ? undefined
    : found.faults.flatMap(({ file, message }) => (file === agent.file ? [message] : [])).join(' ')
  return {
    child,
    plan,
    text: [agent.initial_prompt, given.message].filter(Boolean).join('\n\n'),
    ...(untrusted !== undefined && { untrusted }),
  }
}

/** A part that ended and goes on, with the rights that it would get now. Throws as `planPart` does. */
export async function planAgain(
  thread: DelegatingConversation,
  before: ChildStatus,
  { delegates, others }: Pick<Placed, 'delegates' | 'others'>,
): Promise<{ child: ChildStatus; plan: ChildPlan }> {
  const agent = namedAgent(findAgents(thread.kernel, thread.providers.env), before.agent)
  const { write_paths, isolation, session_id, thread_id, depth, transcript_path } = before
  const rights = childRights(thread.kernel, thread, agent, { delegates, ...(write_paths && { write_paths }) })
  claimOf(agent, rights, { write_paths, isolation }, others)
  const { completed_at: _, error: __, summary: ___, ...rest } = before
  const goes_on = (await thread.workspace.stat(transcript_path)) !== undefined
  return {
    child: { ...rest, status: 'queued', background: true },
    plan: { session_id, thread_id, depth, goes_on, agent, rights },
  }
}

interface Claimed {
  write_paths: readonly string[] | undefined
  isolation: ChildStatus['isolation']
}
/** The paths that a part alone writes; nothing for one that only reads. */
function claimOf(
  { name }: AgentDefinition,
  { writes }: ChildRights,
  { write_paths, isolation }: Claimed,
  others: readonly ChildStatus[],
): readonly string[] | undefined {
  if (!writes) return undefined
  // Nobody else writes in the copy that it works on.
  if (isolation === 'worktree') return write_paths
  if (!write_paths || write_paths.length === 0) {
    const apart = 'let it work on a copy, where commands may change files too: isolation: "worktree"'
    const hint = `Name the globs of the paths that it alone writes, such as write_paths: ["src/parser/**"]; or ${apart}; or start an agent that reads, such as explorer.`
    throw new AgentError(
      'VT_AGENT_NEEDS_WORKTREE',
      `The agent '${name}' changes files, and the call names no write_paths.`,
      { hint },
    )
  }
  refuseClaimed(write_paths, others)
  return write_paths
}

/** Throws VT_AGENT_PATH_CLAIMED for paths that another part writes. */
function refuseClaimed(write_paths: readonly string[], others: readonly ChildStatus[]): void {
  for (const other of others) {
    const both = other.isolation === 'worktree' ? undefined : overlapOf(write_paths, other.write_paths ?? [])
    if (!both) continue
    const hint = `Wait for ${other.id}, close it, or name other paths.`
    throw new AgentError(
      'VT_AGENT_PATH_CLAIMED',
      `'${both[0]}' may be the same paths as '${both[1]}', which ${other.id} (${other.agent}) writes.`,
      { hint },
    )
  }
}
