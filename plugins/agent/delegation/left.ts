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
import { asReport, reportIn, shownReport } from './report.js'
import { reportTool } from './rights.js'
import { hasEnded } from './state.js'
import type { DelegatingConversation } from './types.js'

const killed = { code: 'VT_SESSION_INTERRUPTED', message: 'The program was killed while it worked.' }

/**
 * Ends the parts that a killed process worked on, with what they had reported and what they had cost; the calls that began parts are
 * answered, so that none begins twice. `records`: the journal of their conversation.
 */
export async function settleParts(thread: DelegatingConversation, records: readonly JournalRecord[]): Promise<void> {
  const { workspace, state } = thread
  const since = records.findLast((record) => record.kind === 'message' && record.cost_usd !== undefined)?.ts ?? ''
  const completed_at = new Date(thread.providers.clock.now()).toISOString()
  for (const { child } of state.children.filter((one) => !hasEnded(one.child))) {
    const { report, unpaid, ...known } = await leftByPart(workspace, child, since)
    await withdrawQuestions(workspace, child)
    if (unpaid !== 0) thread.costs.recordAside({ usage: noUsage, cost: unpaid })
    await thread.commit({
      kind: 'child',
      child: { ...child, ...known, status: 'failed', completed_at, error: killed },
      ...(report && { report }),
    })
  }
  const open = listUnansweredCalls(state).map(({ call_id }) => call_id)
  for (const { child, report, call_id } of state.children) {
    if (call_id === undefined || !open.includes(call_id) || state.ended.has(call_id)) continue
    await thread.commit(callEnd(call_id, { text: shownReport(child, report), is_error: false }, []))
    await thread.commit({ kind: 'child', child, told: true })
  }
}

/** What a part had come to when the process that worked on it was killed. */
interface LeftByPart extends Pick<ChildStatus, 'cost_usd' | 'changed_files' | 'summary'> {
  /** As it was reported, else as its last text says. */
  report?: ChildReport
  /** What no step of its conversation has paid for, in USD. */
  unpaid: number | null
}

/** Reads the journal of a part; of one that has none yet nothing is left. `since`: when its conversation last paid for its parts, ISO 8601. */
async function leftByPart(workspace: Workspace, { session_id }: ChildStatus, since: string): Promise<LeftByPart> {
  const records = await readRecords(workspace, session_id).catch((): readonly JournalRecord[] => [])
  const { cost, touched, messages } = conversationTable.replay(records)
  const text = lastText(messages)
  const report = reportedIn(records) ?? (text === '' ? undefined : reportIn(text))
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

/** Takes away what a part asked while it worked: nobody waits for the answer. */
async function withdrawQuestions(workspace: Workspace, { session_id }: ChildStatus): Promise<void> {
  for (const one of await listApprovals(workspace))
    if (one.session_id === session_id) await removeApproval(workspace, one.token)
}

/** The last report that was taken. */
function reportedIn(records: readonly JournalRecord[]): ChildReport | undefined {
  const begun = new Map(
    records.flatMap((record) =>
      record.kind === 'call_start' && record.name === reportTool ? [[record.call_id, record.input] as const] : [],
    ),
  )
  const taken = records.findLast(
    (record) => record.kind === 'call_end' && !record.is_error && begun.has(record.call_id),
  )
  return taken?.kind === 'call_end' ? asReport(begun.get(taken.call_id)) : undefined
}
