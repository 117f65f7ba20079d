import type { Workspace } from '../../../core/workspace/index.js'
import type { ChildReport, ChildStatus, JournalRecord } from '../base/index.js'
import { addUsd, noUsage } from '../model/index.js'
import {
  listApprovals,
  callEnd,
  conversationTable,
  lastText,
  removeApproval,
  listUnansweredCalls,
} from '../session/index.js'
import { readRecords } from '../history/index.js'
import { parseReportInput, parseReport, renderReport } from './report.js'
import { REPORT_TOOL } from './rights.js'
import { hasEnded, IS_READ } from './state.js'
import type { DelegatingConversation } from './types.js'

const KILLED = { code: 'VT_SESSION_INTERRUPTED', message: 'The program was killed while the agent worked.' }

/**
 * Ends the parts of a killed process, with their report and cost so far. It answers the calls that started them, so
 * that no part starts twice. `records`: the journal of their conversation.
 */
export async function settleParts(thread: DelegatingConversation, records: readonly JournalRecord[]): Promise<void> {
  const { workspace, state } = thread
  const since = records.findLast((record) => record.kind === 'message' && record.cost_usd !== undefined)?.ts ?? ''
  const completed_at = new Date(thread.providers.clock.now()).toISOString()
  for (const { child } of state.children.filter((one) => !hasEnded(one.child))) {
    const { report, unpaid, ...known } = await readInterruptedPart(workspace, child, since)
    await withdrawQuestions(workspace, child)
    if (unpaid !== 0) thread.costs.recordSideRequest({ usage: noUsage, cost: unpaid })
    await thread.commit({
      kind: 'child',
      child: { ...child, ...known, status: 'failed', completed_at, error: KILLED },
      ...(report && { report }),
    })
  }
  const open = listUnansweredCalls(state).map(({ call_id }) => call_id)
  for (const { child, report, call_id } of state.children) {
    if (call_id === undefined || !open.includes(call_id) || state.ended.has(call_id)) continue
    await thread.commit(callEnd(call_id, { text: renderReport(child, report), is_error: false }, []))
    await thread.commit({ kind: 'child', child, ...IS_READ })
  }
}

/** The state of a part when its process was killed. */
interface InterruptedPart extends Pick<ChildStatus, 'cost_usd' | 'changed_files' | 'summary'> {
  /** The last report, else the report in its last text. */
  report?: ChildReport
  /** The cost that its conversation has not counted, in USD; `null`: unknown. */
  unpaid: number | null
}

/**
 * Reads the journal of a part, if there is one. `since`: the time when its conversation last counted the cost of
 * parts, ISO 8601.
 */
async function readInterruptedPart(
  workspace: Workspace,
  { session_id }: ChildStatus,
  since: string,
): Promise<InterruptedPart> {
  const records = await readRecords(workspace, session_id).catch((): readonly JournalRecord[] => [])
  const { cost, touched, messages } = conversationTable.replay(records)
  const text = lastText(messages)
  const report = findLastReport(records) ?? (text === '' ? undefined : parseReport(text))
  const unpaid = records.reduce<number | null>(
    (sum, record) =>
      'cost_usd' in record && record.cost_usd !== undefined && record.ts > since ? addUsd(sum, record.cost_usd) : sum,
    0,
  )
  return {
    cost_usd: cost,
    unpaid,
    ...(report && { report, summary: report.summary.slice(0, 300) }),
    ...(touched.length > 0 && { changed_files: touched }),
  }
}

/** Removes the pending approvals of a part, since no process waits for the answer. */
async function withdrawQuestions(workspace: Workspace, { session_id }: ChildStatus): Promise<void> {
  for (const one of await listApprovals(workspace))
    if (one.session_id === session_id) await removeApproval(workspace, one.token)
}

/** Finds the last accepted report. */
function findLastReport(records: readonly JournalRecord[]): ChildReport | undefined {
  const begun = new Map(
    records.flatMap((record) =>
      record.kind === 'call_start' && record.name === REPORT_TOOL ? [[record.call_id, record.input] as const] : [],
    ),
  )
  const taken = records.findLast(
    (record) => record.kind === 'call_end' && !record.is_error && begun.has(record.call_id),
  )
  return taken?.kind === 'call_end' ? parseReportInput(begun.get(taken.call_id)) : undefined
}
