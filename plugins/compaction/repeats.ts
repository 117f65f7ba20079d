import type { Compactor } from '../../core/index.js'
import { toCanonicalJson } from '../../core/trust/index.js'
import { listEffectiveInput } from '../lib/rules/index.js'
import { getRepeats } from '../lib/state/index.js'

// Failures that say nothing about the call: denials of duplicate_calls, aborts.
const GUARD_CODES = ['VT_POLICY_REPEATED', 'VT_GUARD_DUPLICATE', 'VT_CALL_ABORTED', 'VT_CALL_INTERRUPTED']
// Continuing a command is not a repetition. A skill may be loaded again after the conversation was shortened.
const EXEMPT_SLOTS = [
  ...['write', 'poll', 'continue', 'inspect', 'list'].map((action) => `unified_exec/${action}`),
  'load_skill',
  'unified_search/skill',
]

/** Remembers the result of a call for the policy duplicate_calls, and adds a notice to a repeated result. */
const repeats: Compactor = (result, call, { host, session, settings, slot }) => {
  if (EXEMPT_SLOTS.includes(call.slot)) return result
  const memory = getRepeats(session)
  // A nested call, such as a redirect, belongs to the call that started it. Only a denial counts, for the same effect
  // of any call.
  const isNested = call.caller.depth > 0
  if (!result.ok) {
    if (!GUARD_CODES.includes(result.error.code) && (!isNested || result.error.code.startsWith('VT_POLICY_')))
      memory.recordFailure(call, () => toCanonicalJson(listEffectiveInput(call, slot)), result.error)
    return result
  }
  if (isNested && call.effects.every((effect) => effect !== 'write' && effect !== 'exec')) return result
  const limit = settings.tools.max_repeated_tool_calls
  const { times, first } = memory.recordSuccess(call, result, host.timeouts.reading)
  if (limit === 0 || times <= limit) return result
  const message =
    `The same call gave the same result ${times} times; the first call was ${first}. ` +
    'Use that result, or change the input.'
  return { ...result, notices: [...(result.notices ?? []), { code: 'VT_GUARD_DUPLICATE', message }] }
}
export default repeats
