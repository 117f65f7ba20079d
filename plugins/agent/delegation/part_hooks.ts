import { fire, type HookAnswer } from '../../lib/hooks/index.js'
import type { ChildReport, ChildStatus, RunOutcome } from '../base/index.js'
import { reportIn } from './report.js'
import type { ChildThread, DelegatingConversation } from './types.js'

const mostStops = 8
interface PartDone {
  report: ChildReport | undefined
  outcome: RunOutcome
}

/** Has a part done: what hooks say at its begin is added to its texts, and at its end they may send it on, as often as any other. */
export async function workOn(
  thread: DelegatingConversation,
  child: ChildThread,
  { part, texts, signal }: { part: ChildStatus; texts: readonly string[]; signal: AbortSignal },
): Promise<PartDone> {
  const { context } = await partHook(thread, 'SubagentStart', part)
  let done = await stretch(child, [...texts, ...context].join('\n\n'), signal)
  for (let stops = 0; stops <= mostStops; stops += 1) {
    const { block } = await partHook(thread, 'SubagentStop', part, stops)
    if (block === undefined || stops === mostStops || done.outcome.outcome_code !== 'success') break
    const more = await stretch(child, block, signal)
    done = { report: more.report ?? done.report, outcome: more.outcome }
  }
  return done
}

async function stretch(child: ChildThread, told: string, signal: AbortSignal): Promise<PartDone> {
  const outcome = await child.run(told, signal)
  // Where it broke off, what it said counts, not why it broke off.
  const text = outcome.error ? child.said : outcome.text
  return { report: child.report ?? (text === '' ? undefined : reportIn(text)), outcome }
}

/** Tells lifecycle hooks that a part begins or is done, `stops` times sent on by them; the person hears what they remark. */
async function partHook(
  thread: DelegatingConversation,
  event: 'SubagentStart' | 'SubagentStop',
  { agent, thread_id, transcript_path }: ChildStatus,
  stops = 0,
): Promise<HookAnswer> {
  const { kernel, session_id: session, mode } = thread
  const atEnd = event === 'SubagentStop' && { agent_transcript_path: transcript_path, stop_hook_active: stops > 0 }
  const answer = await fire(kernel, event, {
    session,
    mode,
    matched: agent,
    extra: { agent_id: thread_id, agent_type: agent, ...atEnd },
  })
  for (const { code, message } of answer.notices) await thread.remark(code, message)
  return answer
}
