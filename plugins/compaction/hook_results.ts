import type { Call, Compactor, Context, JsonObject, Notice, Result } from '../../core/index.js'
import {
  cutHookText,
  hookRemarks,
  findHooks,
  readHookBlock,
  runHooks,
  specific,
  type RanHook,
} from '../lib/hooks/index.js'

/** PostToolUse and PostToolUseFailure: programs of the user see what came of a call, remark on it and may replace the output; `ok` stays. */
const hook_results: Compactor = (result, call, context) =>
  readHookBlock(context) ? withHookResults(result, call, context) : result
export default hook_results

async function withHookResults(result: Result, call: Call, context: Context): Promise<Result> {
  const before = hookRemarks(context.session).take(call)
  // What was refused has not been used.
  const used = result.ok || result.error.details?.not_applied !== true
  const event = result.ok ? 'PostToolUse' : 'PostToolUseFailure'
  const chosen = used ? await findHooks(event, call, context) : []
  const ran = await runHooks(event, chosen, call, context, extra(result, call, context))
  const notices = [...before, ...ran.flatMap(remarksOf)]
  const replaced = result.ok ? ran.reduce(replace, result) : result
  return notices.length === 0 ? replaced : { ...replaced, notices: [...(replaced.notices ?? []), ...notices] }
}

const extra = (result: Result, call: Call, { waited_ms }: Context): JsonObject => ({
  ...(result.ok ? { tool_response: result.output } : { error: result.error.message }),
  duration_ms: Math.max(0, Math.round(Date.now() - call.at - waited_ms)),
})

function remarksOf({ output }: RanHook): Notice[] {
  if (output.kind === 'failed') return [{ code: 'VT_HOOK_FAILED', message: output.reason }]
  const { json } = output
  const blocked =
    output.kind === 'block'
      ? output.reason
      : json['decision'] === 'block'
        ? String(json['reason'] ?? 'A lifecycle hook objects.')
        : undefined
  const context = [specific(json)['additionalContext'], json['systemMessage']].filter(
    (text) => typeof text === 'string',
  )
  return [
    ...(blocked === undefined ? [] : [{ code: 'VT_HOOK_BLOCKED', message: cutHookText(blocked) }]),
    ...context.map((text) => ({ code: 'VT_HOOK_CONTEXT', message: cutHookText(text) })),
  ]
}

/** Text stands for the text, an object for the output. */
function replace(result: Result & { ok: true }, { output }: RanHook): Result & { ok: true } {
  const updated = output.kind === 'failed' ? undefined : specific(output.json)['updatedToolOutput']
  if (typeof updated === 'string') return { ...result, text: updated }
  if (typeof updated !== 'object' || updated === null || Array.isArray(updated)) return result
  const { text: _, ...rest } = result
  return { ...rest, output: updated as JsonObject }
}
