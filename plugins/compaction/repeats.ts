import type { Compactor } from '../../core/index.js'
import { canonicalJson } from '../../core/trust/index.js'
import { listEffectiveInput } from '../lib/rules/index.js'
import { repeatsOf } from '../lib/state/index.js'

// The guard's own refusals are no news, and going on with a session is no repetition.
const guards = ['VT_POLICY_REPEATED', 'VT_GUARD_DUPLICATE', 'VT_CALL_ABORTED', 'VT_CALL_INTERRUPTED']
// Instructions that a context has lost are loaded again.
const continuing = [
  ...['write', 'poll', 'continue', 'inspect', 'list'].map((action) => `unified_exec/${action}`),
  'load_skill',
  'unified_search/skill',
]

/** Remembers what came of a call for the policy of the same name, and says when the same answer comes again. */
const repeats: Compactor = (result, call, { host, session, settings, slot }) => {
  if (continuing.includes(call.slot)) return result
  const memory = repeatsOf(session)
  // The hop of a redirect, or what a program calls in its turn, is a part of the call that was made.
  const isNested = call.caller.depth > 0
  if (!result.ok) {
    if (!guards.includes(result.error.code) && (!isNested || result.error.code.startsWith('VT_POLICY_')))
      memory.failed(call, () => canonicalJson(listEffectiveInput(call, slot)), result.error)
    return result
  }
  if (isNested && call.effects.every((effect) => effect !== 'write' && effect !== 'exec')) return result
  const limit = settings.tools.max_repeated_tool_calls
  const { times, first } = memory.succeeded(call, result, host.waits.reading)
  if (limit === 0 || times <= limit) return result
  const message = `The same call gave the same answer ${times} times; the first was ${first}. Use it, or change the input.`
  return { ...result, notices: [...(result.notices ?? []), { code: 'VT_GUARD_DUPLICATE', message }] }
}
export default repeats
