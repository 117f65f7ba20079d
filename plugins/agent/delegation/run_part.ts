import { fire, type HookAnswer } from '../../lib/hooks/index.js'
import type { ChildReport, ChildStatus, RunOutcome } from '../base/index.js'
import { parseReport } from './report.js'
import type { ChildThread, DelegatingConversation } from './types.js'

const MAX_STOPS = 8
interface PartResult {
  report: ChildReport | undefined
  outcome: RunOutcome
}

/** Runs a part. Hooks may add texts at its start and continue it at its end, at most `MAX_STOPS` times. */
export async function runPart(
  thread: DelegatingConversation,
  child: ChildThread,
  { part, texts, signal }: { part: ChildStatus; texts: readonly string[]; signal: AbortSignal },
): Promise<PartResult> {
  const { context } = await firePartHook(thread, 'SubagentStart', part)
  let done = await runOnce(child, [...texts, ...context].join('\n\n'), signal)
  for (let stops = 0; stops <= MAX_STOPS; stops += 1) {
    const { block } = await firePartHook(thread, 'SubagentStop', part, stops)
    if (block === undefined || stops === MAX_STOPS || done.outcome.outcome_code !== 'success') break
    const more = await runOnce(child, block, signal)
    done = { report: more.report ?? done.report, outcome: more.outcome }
  }
  return done
}

async function runOnce(child: ChildThread, input: string, signal: AbortSignal): Promise<PartResult> {
  const outcome = await child.run(input, signal)
  // After an error the last text counts, not the error.
  const text = outcome.error ? child.last_text : outcome.text
  return { report: child.report ?? (text === '' ? undefined : parseReport(text)), outcome }
}

/** Fires the lifecycle hooks of a part and shows their notices. `stops`: how often hooks continued the part. */
async function firePartHook(
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
