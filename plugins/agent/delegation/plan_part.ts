import { omitUndefined } from '../../../core/shapes/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { AgentError, type ChildStatus } from '../base/index.js'
import { findOverlap, isInsideGlobs } from './overlap.js'
import { findAgents, requireAgent, type AgentDefinition } from './find_agents.js'
import { computeChildRights, type ChildRights } from './rights.js'
import type { ChildPlan, DelegatingConversation, PartRequest } from './types.js'

interface Placement {
  depth: number
  delegates: boolean
  /** The active parts. */
  others: readonly ChildStatus[]
}

export interface PlannedPart {
  /** The part without its id, which it gets at its start. */
  child: Omit<ChildStatus, 'id'>
  plan: ChildPlan
  text: string
  /** The diagnostics of an untrusted definition. */
  untrusted?: string
}

/** Plans a part. Throws VT_AGENT_UNKNOWN, VT_AGENT_NEEDS_WORKTREE, VT_AGENT_PATH_CLAIMED, VT_INPUT_INVALID. */
export function planPart(
  thread: DelegatingConversation,
  given: PartRequest,
  { depth, delegates, others }: Placement,
): PlannedPart {
  const found = findAgents(thread.kernel, thread.providers.env)
  const agent = requireAgent(found, given.agent ?? 'worker')
  const { write_paths, isolation = agent.isolation } = given
  requireOwnPaths(thread, write_paths)
  const rights = computeChildRights(thread.kernel, thread, agent, { delegates, ...(write_paths && { write_paths }) })
  const claim = claimPaths(agent, rights, { write_paths, isolation }, others)
  const session_id = thread.newId('ses')
  const thread_id = thread.newId('th')
  const child: PlannedPart['child'] = {
    session_id,
    thread_id,
    depth,
    agent: agent.name,
    label: truncateLine(given.label ?? '', 80),
    about: truncateLine(given.message, 160),
    status: 'queued',
    background: given.background ?? agent.background,
    isolation,
    ...(claim && { write_paths: [...claim] }),
    created_at: new Date(thread.providers.clock.now()).toISOString(),
    cost_usd: 0,
    transcript_path: `${CALLS_FOLDER}/${session_id}/messages.jsonl`,
  }
  const declaredModel =
    agent.model === 'small' ? thread.settings.agent.small_model : agent.model === 'inherit' ? undefined : agent.model
  const model = given.model ?? declaredModel
  const max_answers = Math.min(given.max_turns ?? Infinity, agent.max_turns ?? Infinity)
  const limit = max_answers < Infinity && { max_answers }
  const plan: ChildPlan = {
    session_id,
    thread_id,
    resumes: false,
    agent,
    rights,
    depth,
    ...omitUndefined({ model }),
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

/** Plans the continuation of an ended part, with current rights. Throws the same codes as `planPart`. */
export async function planResume(
  thread: DelegatingConversation,
  before: ChildStatus,
  { delegates, others }: Pick<Placement, 'delegates' | 'others'>,
): Promise<{ child: ChildStatus; plan: ChildPlan }> {
  const agent = requireAgent(findAgents(thread.kernel, thread.providers.env), before.agent)
  const { write_paths, isolation, session_id, thread_id, depth, transcript_path } = before
  requireOwnPaths(thread, write_paths)
  const rights = computeChildRights(thread.kernel, thread, agent, { delegates, ...(write_paths && { write_paths }) })
  claimPaths(agent, rights, { write_paths, isolation }, others)
  const { completed_at: _, error: __, summary: ___, ...rest } = before
  const goes_on = (await thread.workspace.stat(transcript_path)) !== undefined
  return {
    child: { ...rest, status: 'queued', background: true },
    plan: { session_id, thread_id, depth, resumes: goes_on, agent, rights },
  }
}

interface PathClaim {
  write_paths: readonly string[] | undefined
  isolation: ChildStatus['isolation']
}
/** Returns the paths that only this part writes; `undefined` for a part that only reads. */
function claimPaths(
  { name }: AgentDefinition,
  { writes }: ChildRights,
  { write_paths, isolation }: PathClaim,
  others: readonly ChildStatus[],
): readonly string[] | undefined {
  if (!writes) return undefined
  // Only this part writes in its copy.
  if (isolation === 'worktree') return write_paths
  if (!write_paths || write_paths.length === 0) {
    const hint =
      'Add the globs of the paths that only this agent writes, such as write_paths: ["src/parser/**"]; ' +
      'or let it work on a copy, where commands may change files too: isolation: "worktree"; ' +
      'or start an agent that reads, such as explorer.'
    throw new AgentError(
      'VT_AGENT_NEEDS_WORKTREE',
      `The agent '${name}' changes files, and the call has no write_paths.`,
      { hint },
    )
  }
  refuseClaimed(write_paths, others)
  return write_paths
}

/** Throws VT_INPUT_INVALID for paths that the conversation itself may not write. */
function requireOwnPaths({ only }: DelegatingConversation, write_paths: readonly string[] = []): void {
  const own = only?.writes
  const outside = own && write_paths.find((glob) => !isInsideGlobs(glob, own))
  if (outside === undefined) return
  const names = own!.map((glob) => `'${glob}'`).join(', ')
  throw new AgentError('VT_INPUT_INVALID', `write_paths: '${outside}' is outside of ${names}, which you may write.`, {
    hint: `Use ${names}, or globs inside of these.`,
  })
}

/** Throws VT_AGENT_PATH_CLAIMED for paths that another part writes. */
function refuseClaimed(write_paths: readonly string[], others: readonly ChildStatus[]): void {
  for (const other of others) {
    const both = other.isolation === 'worktree' ? undefined : findOverlap(write_paths, other.write_paths ?? [])
    if (!both) continue
    const hint = `Wait for ${other.id}, close it, or use other paths.`
    throw new AgentError(
      'VT_AGENT_PATH_CLAIMED',
      `'${both[0]}' may overlap '${both[1]}', which ${other.id} (${other.agent}) writes.`,
      { hint },
    )
  }
}
