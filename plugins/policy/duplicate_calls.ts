import type { Call, Context, Policy } from '../../core/index.js'
import { toCanonicalJson } from '../../core/trust/index.js'
import { listEffectiveInput } from '../lib/rules/index.js'
import { getRepeats } from '../lib/state/index.js'

// Older results prove nothing, because files may have changed.
const MEMORY_MS = 60_000

/** Denies calls that were refused before, keep failing, or keep giving the same result. */
const checkDuplicateCalls: Policy = (call, context) => {
  const { session, settings, slot } = context
  const repeats = getRepeats(session)
  const refusal = repeats.findRefusal(call, () => toCanonicalJson(listEffectiveInput(call, slot)), settings)
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
  if (limit === 0 || call.at - earlier.at > MEMORY_MS) return undefined
  if (earlier.failures >= 3 && earlier.successes === repeats.successes) {
    return {
      deny: `The same call failed ${earlier.failures} times with ${earlier.code}.`,
      code: 'VT_GUARD_DUPLICATE',
      hint: 'Change the input, or make another call first.',
    }
  }
  if (earlier.times <= limit * 2) return undefined
  const verdict = {
    deny: `The same call gave the same answer ${earlier.times} times; the first call was ${earlier.first}.`,
    code: 'VT_GUARD_DUPLICATE',
    hint: 'Use the result you have, request another page, or change the input.',
  }
  return hasChangedFile(call, context, earlier.at).then((changed) => (changed ? undefined : verdict))
}
export default checkDuplicateCalls

/** Checks whether a file of the call has changed since a time. */
async function hasChangedFile(call: Call, context: Context, since: number): Promise<boolean> {
  for (const { resolved } of call.places) {
    const stat = await context.workspace.stat(resolved).catch(() => undefined)
    if (!stat || stat.mtime_ms >= since) return true
  }
  return false
}
