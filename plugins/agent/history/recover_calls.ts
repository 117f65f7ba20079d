import { fail, ok, type Effect, type Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redactText, truncateLine } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { listUndoable, type Step } from '../../lib/files/index.js'
import { listSpoolFiles } from '../../lib/state/index.js'
import {
  isQuiet,
  resolveCall,
  describeSubject,
  toModelText,
  type CallPart,
  type FactOf,
  type FileChange,
  type CallMeaning,
} from '../base/index.js'
import { type Conversation, callEnd, resultPart, listUnansweredCalls } from '../session/index.js'

/** The result of a call, and the known files that it changed where its tool does not report them. */
export interface CallResult {
  result: Result
  changed: FileChange[]
}
interface KnownCall {
  effects: readonly Effect[]
  meaning: CallMeaning
}

/**
 * Returns the result of a call that a killed process had begun; `undefined` if the call had no effect and can run
 * again. A command never runs a second time, but the files that it changed can be restored. A change of our own tools
 * is compared with the checkpoint that was written before it.
 */
export async function recoverCall(
  { workspace, session_id, state, snapshots, approvals }: Conversation,
  { call_id }: CallPart,
  { effects, meaning }: KnownCall,
): Promise<CallResult | undefined> {
  const started = state.started.get(call_id) as { ts?: string; effects?: readonly Effect[] } | undefined
  // The present and the recorded effects both count: a tool may have been declared harmless since.
  // A script that asks about one of its calls may have made others, so it never runs again.
  if (meaning.slot?.runs_calls) await approvals.withdraw(call_id)
  if ((isQuiet(effects) && isQuiet(started?.effects ?? [])) || (await approvals.isPending(call_id))) return undefined
  const since = started?.ts ?? ''
  if (!meaning.slot?.keeps_history) {
    const changed = await snapshots.recoverChanges(call_id).catch(() => [])
    const files = changed.length > 0 ? ` It changed ${changed.map(({ path }) => path).join(', ')}.` : ''
    const output = await readOutputTail(workspace, session_id, since)
    const what = describeKilledRun(meaning, state.script_calls.get(call_id))
    return {
      result: createInterruptedResult(`${what}${files}${output}`),
      changed,
    }
  }
  const steps = (await listUndoable(workspace)).flatMap(({ checkpoint }) =>
    checkpoint.session === session_id && checkpoint.time >= since ? checkpoint.steps : [],
  )
  const done = await Promise.all(steps.map((step) => isStepDone(workspace, step)))
  if (!done.includes(true)) return undefined
  if (!done.includes(false))
    return { result: ok({}, { text: 'The change was made before the program was interrupted.' }), changed: [] }
  const state_of = steps.map(
    (step, index) => `${'path' in step ? step.path : step.to}: ${done[index] ? 'made' : 'not made'}`,
  )
  return {
    result: createInterruptedResult(`The program was killed in the middle of this change. ${state_of.join('; ')}.`),
    changed: [],
  }
}

const describeKilledRun = ({ slot }: CallMeaning, calls: FactOf<'script_call'>[] | undefined): string =>
  slot?.runs_calls
    ? `The program was killed while this script ran; it does not run again.${listScriptCalls(calls)}`
    : 'The program was killed while this ran: it may have run; look before repeating it.'

/** Limits of the results that a resumed session shows: their number, and the text of each. */
const SCRIPT_LIMITS = { calls: 50, text: 500, input: 200 }

/** Lists the calls of a killed script that had ended, with their results. */
function listScriptCalls(calls: FactOf<'script_call'>[] = []): string {
  if (calls.length === 0) return ' None of its calls had ended.'
  const { length } = calls
  const lines = calls.slice(-SCRIPT_LIMITS.calls).map(({ slot, input, ok, text }) => {
    const given = truncateLine(JSON.stringify(input), SCRIPT_LIMITS.input)
    return `- ${slot} ${given}: ${ok ? '' : 'failed, '}${truncateLine(text, SCRIPT_LIMITS.text)}`
  })
  const more = length > lines.length ? ` The last ${lines.length}:` : ''
  return ` ${length} of its calls had ended.${more}\n${lines.join('\n')}\n`
}

const longestTail = 2048

/** Returns the spool file of a killed command and the end of its output. Only long output has such a file. */
async function readOutputTail(workspace: Workspace, session: string, since: string): Promise<string> {
  const [last] = (await listSpoolFiles(workspace, session)).filter(({ mtime_ms }) => mtime_ms >= Date.parse(since))
  if (!last) return ''
  const bytes = await workspace
    .read(last.path, { offset: Math.max(0, last.bytes - longestTail) })
    .catch(() => Buffer.alloc(0))
  return ` What it printed is in ${last.path} (${last.bytes} bytes); it ends:\n${redactText(bytes.toString())}`
}

const createInterruptedResult = (message: string): Result =>
  fail('VT_CALL_INTERRUPTED', message, { hint: 'Check the changes before you continue.' })

/** Returns whether the workspace is in the state that a step leaves. */
export async function isStepDone(workspace: Workspace, step: Step): Promise<boolean> {
  const exists = async (path: string) => (await workspace.stat(path)) !== undefined
  if (step.op === 'rename') return (await exists(step.to)) && !(await exists(step.from))
  if (step.op === 'create') return exists(step.path)
  if (step.op !== 'write') return !(await exists(step.path))
  const bytes = await workspace.read(step.path).catch(() => undefined)
  return bytes !== undefined && sha256(bytes) === step.after
}

/** Describes a call with its present effects; the recorded ones may come from a version that knew less. */
async function describeCall({ kernel, providers }: Conversation, call: CallPart): Promise<KnownCall> {
  const meaning = await resolveCall(kernel, call)
  const { effects } = await providers.metadata.describe(call.name, call.input, meaning.prepared)
  return { effects, meaning }
}

/** Ends a turn that no run continues: answers each of its calls with the known result, then closes the turn. */
export async function abandonTurn(thread: Conversation): Promise<void> {
  const calls = listUnansweredCalls(thread.state)
  for (const call of calls) {
    const { call_id } = call
    if (thread.state.ended.has(call_id)) continue
    const start = thread.state.started.get(call_id)
    const about = await describeCall(thread, call)
    const settled = start && (await recoverCall(thread, call, about))
    const { result, changed } = settled ?? {
      result: createInterruptedResult('The program was killed before this was done. Nothing was done.'),
      changed: [],
    }
    const lost = !settled && !isQuiet(about.effects) && about.meaning.slot
    await thread.commit(
      callEnd(
        call_id,
        toModelText(result),
        changed,
        lost
          ? { not_applied: { tool: call.name, target: describeSubject(about.meaning), code: 'VT_CALL_INTERRUPTED' } }
          : {},
      ),
    )
  }
  if (calls.length > 0)
    await thread.commit({
      kind: 'message',
      message: { role: 'tool', parts: calls.map((call) => resultPart(call, thread.state.ended.get(call.call_id)!)) },
    })
  await thread.commit({ kind: 'turn_end', status: 'failed', code: 'VT_SESSION_INTERRUPTED' })
}
