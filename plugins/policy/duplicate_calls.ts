import type { Policy } from '../../core/index.js'
import { repeatsOf } from '../shared/repeats.js'

/** Ends a circle: what was refused is not asked again, what keeps failing or answering the same is not run again. */
const duplicate_calls: Policy = (call, { session, settings }) => {
  const repeats = repeatsOf(session)
  const seen = repeats.find(call)
  if (!seen) return undefined
  if (seen.refusal) {
    const { message, hint, next } = seen.refusal
    return {
      deny: `The same call was refused before: ${message}`,
      code: 'VT_POLICY_REPEATED',
      hint: hint.replace(/^Nothing was done\.\s*/, ''),
      ...(next && { next }),
    }
  }
  const limit = (settings.tools as { max_repeated_tool_calls?: number } | undefined)?.max_repeated_tool_calls ?? 2
  if (limit === 0) return undefined
  if (seen.failures >= 3 && seen.successes === repeats.successes) {
    return {
      deny: `The same call failed ${seen.failures} times with ${seen.code}.`,
      code: 'VT_GUARD_DUPLICATE',
      hint: 'Change the input, or make another call first.',
    }
  }
  if (seen.times <= limit * 2) return undefined
  return {
    deny: `The same call gave the same answer ${seen.times} times; the first was ${seen.first}.`,
    code: 'VT_GUARD_DUPLICATE',
    hint: 'Use the answer you have, ask for another page, or change the input.',
  }
}
export default duplicate_calls
