import { failure, type JsonObject, type Result } from '../../../core/shapes/index.js'
import type { Approval } from '../../../core/contract/index.js'
import { AgentError, toErrorMessage, type ChildStatus, type RunOutcome, type ThreadItem } from '../base/index.js'
import { AGENTS_TOOL, REPORT_TOOL } from './rights.js'
import type { ChildPlan, DelegatingConversation, LivePart } from './types.js'

/** Runs the work of a call; an expected failure becomes its result. */
export async function toCallResult(
  work: () => Promise<Result | { child?: ChildStatus; output?: object; text: string }>,
): Promise<Result> {
  try {
    const done = await work()
    if ('ok' in done) return done
    const { child, output = child!, text } = done
    return { ok: true, output: output as JsonObject, text }
  } catch (error) {
    const refusal = error instanceof AgentError ? toRefusal(error) : failure(error)
    if (!refusal) throw error
    return refusal
  }
}
/** Converts the error of a part that could not run. */
export function toFault(error: unknown): { code: string; message: string } {
  const { code, message } = (error instanceof AgentError ? error : failure(error)?.error) ?? {
    code: 'VT_INTERNAL',
    message: toErrorMessage(error),
  }
  return { code, message }
}
const toRefusal = ({ code, message, extra }: AgentError): Result => ({
  ok: false,
  error: { code, message, hint: extra.hint ?? '', retryable: false },
})

/** Creates the error for an unknown agent, with the known ones. */
export function createUnknownError(id: string, children: readonly ChildStatus[]): AgentError {
  const known = children.map((child) => child.id).join(', ') || 'none'
  return new AgentError(
    'VT_AGENT_UNKNOWN',
    `Unknown agent '${id.slice(0, 64)}'; agents of this conversation: ${known}.`,
    {
      hint: `Use one of these ids. {slot:${AGENTS_TOOL}/list} lists them.`,
    },
  )
}
/** Creates the error of a conversation that may start no agents. */
export function createDepthError(
  { enabled, max_depth }: { enabled: boolean; max_depth: number },
  depth: number,
): AgentError {
  if (!enabled)
    return new AgentError('VT_AGENT_DEPTH', 'subagents.enabled is false: agents cannot start.', {
      hint: 'Do the work yourself.',
    })
  const message = `The depth ${depth} reaches subagents.max_depth ${max_depth}: this conversation cannot start agents.`
  return new AgentError('VT_AGENT_DEPTH', message, { hint: 'Do the work yourself, or report the rest as open.' })
}
/** Creates the error of a run that has started the maximum number of agents. */
export const createAgentLimitError = ({ max_total_per_run }: { max_total_per_run: number }): AgentError =>
  new AgentError(
    'VT_AGENT_LIMIT',
    `${max_total_per_run} agents were started in this run (subagents.max_total_per_run); 0 are left.`,
    { hint: 'Do the rest yourself.' },
  )

/** Renders the part of the system prompt for a delegated agent. */
export const renderAssignment = ({ agent: { name, body, skills }, rights, tree }: ChildPlan): string =>
  [
    `You are the agent ${name} and do one part of the work of another conversation. It reads only your report.`,
    `No person answers questions. End by calling ${REPORT_TOOL}.`,
    ...(rights.only.writes ? [`You write only: ${rights.only.writes.join(', ')}.`] : []),
    ...(tree
      ? [
          'You work on a copy of its files, in a separate repository. ' +
            'The conversation gets your changes when it merges them, without files that git ignores. ' +
            'You need not commit.',
        ]
      : []),
    ...(skills.length > 0 ? [`Load these skills first: ${skills.join(', ')}.`] : []),
    body,
  ]
    .filter((text) => text !== '')
    .join('\n\n')

/** Creates the approver of a part: it relays to the approver of the conversation, with the agent in the question. */
export function createApprovalRelay(
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

/** Converts a part to an item of the log. */
export const toThreadItem = (
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

interface PartEnding extends Pick<LivePart, 'timeout_secs' | 'stopped'> {
  expired: boolean
  reported: boolean
}
/** Converts the outcome of a run to the end of its part. */
export function toEndStatus(
  { outcome_code, error }: RunOutcome,
  { expired, stopped, timeout_secs, reported }: PartEnding,
): Pick<ChildStatus, 'status' | 'error'> {
  if (stopped !== undefined) return { status: 'closed' }
  if (expired)
    return {
      status: 'failed',
      error: { code: 'VT_AGENT_TIMEOUT', message: `The agent did not end within ${timeout_secs} seconds.` },
    }
  // The report lists refused calls.
  if (['success', 'escalated'].includes(outcome_code) || reported) return { status: 'completed' }
  return {
    status: 'failed',
    error: error
      ? { code: error.code, message: error.message }
      : { code: 'VT_AGENT_STOPPED', message: `The run of the agent ended with ${outcome_code}.` },
  }
}
