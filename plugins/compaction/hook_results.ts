import type { Call, Compactor, Context, JsonObject, Notice, Result } from '../../core/index.js'
import {
  cutHookText,
  getHookNotices,
  findHooks,
  readHookBlock,
  runHooks,
  readSpecificOutput,
  type RanHook,
} from '../lib/hooks/index.js'

/**
 * PostToolUse and PostToolUseFailure: programs of the user get the result of a call. They may add remarks and replace
 * the output; `ok` stays.
 */
const hook_results: Compactor = (result, call, context) =>
  readHookBlock(context) ? withHookResults(result, call, context) : result
export default hook_results

async function withHookResults(result: Result, call: Call, context: Context): Promise<Result> {
  const before = getHookNotices(context.session).take(call)
  // A refused call did not use the tool.
  const used = result.ok || result.error.details?.not_applied !== true
  const event = result.ok ? 'PostToolUse' : 'PostToolUseFailure'
  const chosen = used ? await findHooks(event, call, context) : []
  const ran = await runHooks(event, chosen, call, context, createHookInput(result, call, context))
  const notices = [...before, ...ran.flatMap(toNotices)]
  const replaced = result.ok ? ran.reduce(replaceOutput, result) : result
  return notices.length === 0 ? replaced : { ...replaced, notices: [...(replaced.notices ?? []), ...notices] }
}

const createHookInput = (result: Result, call: Call, { waited_ms }: Context): JsonObject => ({
  ...(result.ok ? { tool_response: result.output } : { error: result.error.message }),
  duration_ms: Math.max(0, Math.round(Date.now() - call.at - waited_ms)),
})

function toNotices({ output }: RanHook): Notice[] {
  if (output.kind === 'failed') return [{ code: 'VT_HOOK_FAILED', message: output.reason }]
  const { json } = output
  const blocked =
    output.kind === 'block'
      ? output.reason
      : json['decision'] === 'block'
        ? String(json['reason'] ?? 'A lifecycle hook objects.')
        : undefined
  const context = [readSpecificOutput(json)['additionalContext'], json['systemMessage']].filter(
    (text) => typeof text === 'string',
  )
  return [
    ...(blocked === undefined ? [] : [{ code: 'VT_HOOK_BLOCKED', message: cutHookText(blocked) }]),
    ...context.map((text) => ({ code: 'VT_HOOK_CONTEXT', message: cutHookText(text) })),
  ]
}

/** Replaces the result: a string replaces the text, an object the output. */
function replaceOutput(result: Result & { ok: true }, { output }: RanHook): Result & { ok: true } {
  const updated = output.kind === 'failed' ? undefined : readSpecificOutput(output.json)['updatedToolOutput']
  if (typeof updated === 'string') return { ...result, text: updated }
  if (typeof updated !== 'object' || updated === null || Array.isArray(updated)) return result
  const { text: _, ...rest } = result
  return { ...rest, output: updated as JsonObject }
}
