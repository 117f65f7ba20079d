import { omitUndefined, type JsonObject, type Result } from '../../../core/shapes/index.js'
import { resolveSandboxMode } from '../../lib/process/index.js'
import type { CallOutcome, FileChange, CallMeaning, ModelText, NewThreadItem, ThreadItem } from '../base/index.js'
import type { Conversation } from '../session/index.js'
import type { HumanInput } from './human_input.js'
import { countChangedFileLines } from './line_counts.js'

/** The result of a call, for its events. */
interface CallReport {
  meaning: CallMeaning
  result: Result
  answer: ModelText
  changes: FileChange[]
  duration_ms: number
  outcome: CallOutcome
}
type Invocation = ThreadItem & { type: 'tool_invocation' }

/**
 * Emits the events of a finished call: its output, its special kind if it has one, the files it changed, and its end.
 */
export async function reportCall(
  thread: Conversation,
  invocation: Invocation,
  { meaning, result, answer, changes, duration_ms, outcome }: CallReport,
): Promise<void> {
  const { events, newId, workspace, session_id } = thread
  const { call_id, tool_call_id } = invocation
  const status = outcome === 'cancelled' ? 'cancelled' : result.ok ? 'completed' : 'failed'
  const exit_code = getExitCode(result)
  const say = (item: NewThreadItem) => events.emitItem({ id: newId('it'), ...item })
  await say({
    type: 'tool_output',
    call_id,
    ...omitUndefined({ tool_call_id, spool_path: answer.spool_path }),
    output: answer.text,
    ...omitUndefined({ exit_code }),
    status,
    is_error: answer.is_error,
    ...(!result.ok && { error_code: result.error.code }),
    duration_ms,
    bytes: Buffer.byteLength(answer.text),
  })
  const special = toSpecialItem(invocation, meaning, result, answer)
  if (special) await say(special)
  if (changes.length > 0)
    await say({
      type: 'file_change',
      changes: await countChangedFileLines(workspace, session_id, changes),
      status: 'completed',
      call_id,
    })
  await events.complete({
    ...invocation,
    status,
    outcome,
    ...(special?.type === 'command_execution' && { executor: await resolveExecutor(thread, invocation, meaning) }),
  })
}

const most = { output: 8192, results: 20 }

/** Creates the special item of a call: a command, a web search, a tool of an MCP server. */
function toSpecialItem(
  { tool_name, arguments: input, effects, call_id }: Invocation,
  meaning: CallMeaning,
  result: Result,
  answer: ModelText,
): NewThreadItem | undefined {
  if ((meaning.slot?.tool ?? tool_name).startsWith('mcp__')) {
    if (!result.ok && notRun.test(result.error.code)) return undefined
    return {
      type: 'mcp_tool_call',
      tool_name,
      arguments: input,
      result: answer.text,
      status: result.ok ? 'completed' : 'failed',
    }
  }
  if (!result.ok) return undefined
  const { output } = result
  const { query, provider, results } = output
  const command = toCommandText(output['command'] ?? meaning.input['command'])
  if (effects.includes('exec') && typeof command === 'string' && 'exit_code' in output) {
    return {
      type: 'command_execution',
      command,
      aggregated_output: joinOutput(output),
      ...toExitStatus(output),
      call_id,
    }
  }
  if (effects.includes('net') && typeof query === 'string' && Array.isArray(results)) {
    return {
      type: 'web_search',
      query,
      ...(typeof provider === 'string' && { provider }),
      results: results.slice(0, most.results) as JsonObject[],
    }
  }
  return undefined
}

function toExitStatus({ exit_code, running }: JsonObject) {
  const ended = exit_code === 0 ? ('completed' as const) : ('failed' as const)
  const status = running === true ? ('in_progress' as const) : ended
  return { ...(typeof exit_code === 'number' && { exit_code }), status }
}

const toCommandText = (value: unknown): unknown => (Array.isArray(value) ? value.join(' ') : value)

// Codes of calls that did not run.
const notRun = /^VT_(POLICY|INPUT|TOOL|ACTION|GUARD|LOOP|LLM)_/

/** Joins the output of a command; keeps the end of a long one. */
function joinOutput({ stdout, stderr, output }: JsonObject): string {
  const text = [stdout, stderr, output].filter((part) => typeof part === 'string').join('')
  return text.length > most.output ? `…${text.slice(-most.output)}` : text
}

/** Returns whether a command ran in the sandbox. */
async function resolveExecutor(
  { kernel, providers }: Conversation,
  { tool_name, arguments: given }: Invocation,
  { input }: CallMeaning,
): Promise<'local' | 'sandbox'> {
  const { mode } = kernel.settings.sandbox
  const chosen = providers.sandbox.choose(tool_name, given)
  const use = resolveSandboxMode(
    mode,
    chosen === 'workspace' ? undefined : chosen,
    input['sandbox_permissions'] === 'require_escalated',
  )
  if (use !== 'auto') return use === 'off' ? 'local' : 'sandbox'
  const { findSandbox } = await import('../../lib/sandbox/index.js')
  return 'missing' in (await findSandbox(kernel.workspace)) ? 'local' : 'sandbox'
}

export function toCallOutcome(result: Result, stopped: boolean, decision: HumanInput['decision']): CallOutcome {
  if (result.ok) return 'success'
  const { code, details } = result.error
  if (code === 'VT_CALL_ABORTED' || code === 'VT_CALL_INTERRUPTED' || stopped) return 'cancelled'
  if (code === 'VT_TOOL_UNKNOWN') return 'invalid_tool'
  if (!code.startsWith('VT_POLICY_')) return 'error'
  if (details?.['hook'] === true) return 'hook_denied'
  return decision === 'cancel' ? 'permission_cancelled' : decision === 'followup' ? 'followup' : 'permission_rejected'
}

function getExitCode(result: Result): number | undefined {
  const code = result.ok ? result.output['exit_code'] : result.error.details?.['exit_code']
  return typeof code === 'number' ? code : undefined
}
