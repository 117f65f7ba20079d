import { failure, type JsonObject, type Result } from '../../../core/shapes/index.js'
import type { Approval } from '../../../core/contract/index.js'
import { AgentError, messageOf, type ChildStatus, type RunOutcome, type ThreadItem } from '../base/index.js'
import { agentsTool, reportTool } from './rights.js'
import type { ChildPlan, DelegatingConversation, LivePart } from './types.js'

/** What a call of the tool comes to: a failure of ours is its result. */
export async function answered(
  work: () => Promise<Result | { child?: ChildStatus; output?: object; text: string }>,
): Promise<Result> {
  try {
    const done = await work()
    if ('ok' in done) return done
    const { child, output = child!, text } = done
    return { ok: true, output: output as JsonObject, text }
  } catch (error) {
    const refusal = error instanceof AgentError ? asRefusal(error) : failure(error)
    if (!refusal) throw error
    return refusal
  }
}
/** What a part fails with that could not be done at all. */
export function faultOf(error: unknown): { code: string; message: string } {
  const { code, message } = (error instanceof AgentError ? error : failure(error)?.error) ?? {
    code: 'VT_INTERNAL',
    message: messageOf(error),
  }
  return { code, message }
}
const asRefusal = ({ code, message, extra }: AgentError): Result => ({
  ok: false,
  error: { code, message, hint: extra.hint ?? '', retryable: false },
})

/** Nobody of this name does a part; says who does. */
export function unknownPart(id: string, children: readonly ChildStatus[]): AgentError {
  const known = children.map((child) => child.id).join(', ') || 'none'
  return new AgentError('VT_AGENT_UNKNOWN', `There is no agent '${id.slice(0, 64)}' at work here; known: ${known}.`, {
    hint: `Name one of these. See them with {slot:${agentsTool}/list}.`,
  })
}
/** Why a conversation that is so deep starts no agents. */
export function tooDeep({ enabled, max_depth }: { enabled: boolean; max_depth: number }, depth: number): AgentError {
  if (!enabled)
    return new AgentError('VT_AGENT_DEPTH', 'subagents.enabled is false: no agent is started.', {
      hint: 'Do the work yourself.',
    })
  const message = `This conversation is ${depth} deep and subagents.max_depth is ${max_depth}: it starts no agents.`
  return new AgentError('VT_AGENT_DEPTH', message, { hint: 'Do the work yourself, or report what is left.' })
}
/** As many parts were begun in the run as there may be. */
export const noneLeft = ({ max_total_per_run }: { max_total_per_run: number }): AgentError =>
  new AgentError(
    'VT_AGENT_LIMIT',
    `${max_total_per_run} agents were started in this run (subagents.max_total_per_run); 0 are left.`,
    { hint: 'Do the rest yourself.' },
  )

/** What the system prompt says to an agent that does a part. */
export const chargeOf = ({ agent: { name, body, skills }, rights, tree }: ChildPlan): string =>
  [
    `You are the agent ${name} and do one part of the work of another conversation, which reads your report and nothing else.`,
    `Nobody answers questions. End by calling ${reportTool}.`,
    ...(rights.only.writes ? [`You write only: ${rights.only.writes.join(', ')}.`] : []),
    ...(tree
      ? [
          'You work on a copy of its files, in a repository of its own. Your changes reach the conversation when it merges them; what git ignores does not. You need not commit.',
        ]
      : []),
    ...(skills.length > 0 ? [`Load these skills first: ${skills.join(', ')}.`] : []),
    body,
  ]
    .filter((text) => text !== '')
    .join('\n\n')

/** How a part asks for approvals: whoever can allow a call of its conversation, with its name in the question. */
export function askingFor(
  { providers, approvals }: DelegatingConversation,
  { agent, id, label }: ChildStatus,
): Pick<ChildPlan, 'asker' | 'approve'> {
  const { approve } = providers.approval
  const asker = `The agent ${agent} (${[id, label].filter(Boolean).join(', ')}) asks.`
  return {
    asker,
    ...(approve && {
      approve: (request: Approval) =>
        approvals.relay(approve, {
          ...request,
          reasons: [asker, ...request.reasons],
          question: `${asker}\n${request.question}`,
        }),
    }),
  }
}

/** A part as an item of the log of its conversation. */
export const itemOf = (
  { thread_id, agent, status, summary, label, about, error, transcript_path }: ChildStatus,
  id: string,
): ThreadItem & { type: 'subagent' } => ({
  id,
  type: 'subagent',
  child_thread_id: thread_id,
  agent_name: agent,
  status: status === 'queued' || status === 'running' ? 'in_progress' : status === 'closed' ? 'cancelled' : status,
  summary: [...(error ? [`${error.code}: ${error.message}`] : []), summary ?? (error ? '' : label || about)]
    .filter(Boolean)
    .join(' '),
  trajectory_path: transcript_path,
})

interface HowPart extends Pick<LivePart, 'timeout_secs' | 'stopped'> {
  expired: boolean
  reported: boolean
}
/** How a part ended whose run ended so. */
export function partEnd(
  { outcome_code, error }: RunOutcome,
  { expired, stopped, timeout_secs, reported }: HowPart,
): Pick<ChildStatus, 'status' | 'error'> {
  if (stopped !== undefined) return { status: 'closed' }
  if (expired)
    return {
      status: 'failed',
      error: { code: 'VT_AGENT_TIMEOUT', message: `It did not end within ${timeout_secs} seconds.` },
    }
  // What was refused stands in its report.
  if (['success', 'escalated'].includes(outcome_code) || reported) return { status: 'completed' }
  return {
    status: 'failed',
    error: error
      ? { code: error.code, message: error.message }
      : { code: 'VT_AGENT_STOPPED', message: `Its run ended as ${outcome_code}.` },
  }
}
