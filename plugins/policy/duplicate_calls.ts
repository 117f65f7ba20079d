import type { Call, Context, Policy } from '../../core/index.js'
import { canonicalJson } from '../../core/trust/index.js'
import { listEffectiveInput } from '../lib/rules/index.js'
import { repeatsOf } from '../lib/state/index.js'

// What was seen longer ago proves nothing about now: somebody else may have changed what the call is about.
const memoryMs = 60_000

/** Ends a circle: what was refused is not asked again, what keeps failing or answering the same is not run again. */
const duplicate_calls: Policy = (call, context) => {
  const { session, settings, slot } = context
  const repeats = repeatsOf(session)
  const refusal = repeats.refused(call, () => canonicalJson(listEffectiveInput(call, slot)), settings)
  if (refusal) {
    const { message, hint, next } = refusal
    return {
      deny: `The same call was refused before: ${message}`,
      code: 'VT_POLICY_REPEATED',
      hint: hint.replace(/^Nothing was done\.\s*/, ''),
      ...(next && { next }),
    }
  }
  const earlier = call.caller.depth > 0 ? undefined : repeats.find(call)
  if (!earlier) return undefined
  const limit = settings.tools.max_repeated_tool_calls
  if (limit === 0 || call.at - earlier.at > memoryMs) return undefined
  if (earlier.failures >= 3 && earlier.successes === repeats.successes) {
    return {
      deny: `The same call failed ${earlier.failures} times with ${earlier.code}.`,
      code: 'VT_GUARD_DUPLICATE',
      hint: 'Change the input, or make another call first.',
    }
  }
  if (earlier.times <= limit * 2) return undefined
  const verdict = {
    deny: `The same call gave the same answer ${earlier.times} times; the first was ${earlier.first}.`,
    code: 'VT_GUARD_DUPLICATE',
    hint: 'Use the answer you have, ask for another page, or change the input.',
  }
  return touched(call, context, earlier.at).then((changed) => (changed ? undefined : verdict))
}
export default duplicate_calls

/** Whether a file that the call names has changed since. */
async function touched(call: Call, context: Context, since: number): Promise<boolean> {
  for (const { resolved } of call.places) {
    const stat = await context.workspace.stat(resolved).catch(() => undefined)
    if (!stat || stat.mtime_ms >= since) return true
  }
  return false
}
