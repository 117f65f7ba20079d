import type { CallOptions, Kernel, Mode, Result, Workspace } from '../../../core/index.js'
import { pickStricterMode } from '../../../core/config/index.js'
import { createHiddenFilter } from '../../../core/workspace/index.js'
import type { FactOf, JournalRecord, Recording, SessionReplay } from '../../agent/cli/index.js'
import { createWorktree, dropWorktree } from '../../lib/worktrees/index.js'

type Agent = typeof import('../../agent/cli/index.js')
interface LiveOptions {
  kernel: Kernel
  workspace: Workspace
  signal: AbortSignal
  approve?: NonNullable<CallOptions['approve']>
}

interface RecordedCall {
  start: FactOf<'call_start'>
  end: FactOf<'call_end'>
  mode: Mode | undefined
  turn: number
  step: number
}

/**
 * Makes the calls of a recording again, in order, on a copy of the workspace, and compares their results. Ends at the
 * first difference. Calls that need their conversation, and calls without the approval that they need, are left out
 * and named. Throws VT_AGENT_NO_WORKTREE.
 */
export async function replayTools(
  { cutToDifference, toModelText }: Pick<Agent, 'cutToDifference' | 'toModelText'>,
  { session_id, records, notices, version }: Recording,
  { kernel, workspace, signal, approve }: LiveOptions,
): Promise<SessionReplay> {
  const calls = listCalls(records)
  const base = { session_id, turns: calls.at(-1)?.turn ?? 0, ...(version !== undefined && { version }) }
  const id = `replay-${session_id}`.slice(0, 64)
  const isHidden = createHiddenFilter(kernel.settings, workspace)
  const tree = await createWorktree(workspace, { id, session: session_id, isHidden, signal })
  const left_out: string[] = []
  let made = 0
  try {
    const there = await kernel.inspection.openSibling(tree.root)
    try {
      for (const { start, end, mode, turn, step } of calls) {
        signal.throwIfAborted()
        const answer = await makeCall(there, start, { signal, session: id, surface: 'replay', approve, mode })
        if ('why' in answer) {
          left_out.push(`${start.call_id} ${start.name}: ${answer.why}`)
          continue
        }
        made += 1
        const { text } = toModelText(answer.result)
        if (isEqual(end.text, text)) continue
        const sides = cutToDifference(normalize(end.text), normalize(text))
        const where = `result of ${start.call_id} ${start.name}`
        return {
          ...base,
          status: 'different',
          requests: made,
          left_out: left_out.length,
          notices: [...notices, ...left_out],
          difference: { turn, step, part: 'result', where, ...sides },
        }
      }
    } finally {
      await there.endSession(id)
      await there.close()
    }
  } finally {
    await dropWorktree(workspace, id)
  }
  const all = { requests: made, left_out: left_out.length, notices: [...notices, ...left_out] }
  return made === 0
    ? { ...base, ...all, status: 'unknown', reason: 'The session has no call that can be made again.' }
    : { ...base, ...all, status: 'equal' }
}

async function makeCall(
  kernel: Kernel,
  { name, input }: FactOf<'call_start'>,
  {
    mode,
    approve,
    ...options
  }: Pick<CallOptions, 'signal' | 'session' | 'surface'> &
    Pick<RecordedCall, 'mode'> & { approve: LiveOptions['approve'] | undefined },
): Promise<{ result: Result } | { why: string }> {
  const prepared = await kernel.resolve(name, input)
  if (prepared?.slot.audience !== undefined) return { why: 'it needs its conversation' }
  const how = {
    ...options,
    ...(approve && { approve }),
    ...(mode && { mode: pickStricterMode(kernel.inspection.resolveMode(mode), kernel.inspection.resolveMode()) }),
  }
  const result = await (prepared ? kernel.call(prepared, how) : kernel.call(name, input, how))
  // A question without an answer says nothing about the tool.
  if (!result.ok && result.error.code === 'VT_POLICY_NEEDS_APPROVAL') return { why: 'it needs an approval' }
  return { result }
}

/** Compares results. The conversation may add remarks at the end, or refer to an equal earlier result. */
function isEqual(recorded: string, present: string): boolean {
  const [before, after] = [normalize(recorded), normalize(present)]
  return before === after || before.startsWith(`${after}\n`) || recorded.startsWith('Same result as call ')
}

/** Replaces what differs in each run: names of spool files and durations. */
const normalize = (text: string): string =>
  text.replace(/\.vtcode\/spool\/[\w.-]+/g, '.vtcode/spool/…').replace(/\b\d+(?:\.\d+)? ?m?s\b/g, '… s')

function listCalls(records: readonly JournalRecord[]): RecordedCall[] {
  const calls: RecordedCall[] = []
  const started = new Map<string, FactOf<'call_start'>>()
  let mode: Mode | undefined
  let step = 0
  for (const record of records) {
    if (record.kind === 'segment') mode = record.mode ?? mode
    else if (record.kind === 'message' && record.message.role === 'assistant') step += 1
    else if (record.kind === 'call_start') started.set(record.call_id, record)
    else if (record.kind === 'call_end') {
      const start = started.get(record.call_id)
      if (start) calls.push({ start, end: record, mode, turn: record.turn, step })
    }
  }
  return calls
}
