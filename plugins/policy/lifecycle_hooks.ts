import type { Call, JsonObject, Policy, Session, Verdict } from '../../core/index.js'
import { hookRemarks } from '../shared/hook_remarks.js'
import { cut, hooksFor, runHooks, specific, type Ran } from '../shared/hooks.js'

/** PreToolUse: programs of the user may deny, ask, or want another input; none of them lowers what another policy says. */
const lifecycle_hooks: Policy = async (call, context) => {
  if (Object.keys((context.settings.hooks ?? {}) as object).length === 0) return undefined
  const entries = await hooksFor('PreToolUse', call, context)
  if (entries.length === 0) return undefined
  if (context.explain) return void context.explain({ hooks: entries.map(({ command, args = [] }) => [command, ...args].join(' ')) })
  const ran = await runHooks('PreToolUse', entries, call, context, {})
  const verdicts = ran.flatMap((one) => verdictOf(one, call, context.session) ?? [])
  const worst = verdicts.find((verdict) => 'deny' in verdict) ?? verdicts[0]
  return worst ?? anotherInput(ran, call)
}
export default lifecycle_hooks

function verdictOf({ entry, said }: Ran, call: Call, session: Session): Verdict | undefined {
  const remark = (code: string, message: string): void => hookRemarks(session).add(call, { code, message: cut(message) })
  if (said.kind === 'block') return { deny: said.reason }
  if (said.kind === 'failed') {
    const word = entry.on_error ?? entry.onError ?? 'deny'
    remark('VT_HOOK_FAILED', said.reason)
    return word === 'allow' ? undefined : word === 'ask' ? { ask: said.reason } : { deny: said.reason }
  }
  const { json } = said
  const own = specific(json)
  const reason = cut(String(own['permissionDecisionReason'] ?? json['reason'] ?? json['stopReason'] ?? 'A lifecycle hook objects.'))
  if (typeof own['additionalContext'] === 'string') remark('VT_HOOK_CONTEXT', own['additionalContext'])
  if (typeof json['systemMessage'] === 'string') remark('VT_HOOK_CONTEXT', json['systemMessage'])
  const decision = own['permissionDecision'] ?? (json['decision'] === 'block' || json['continue'] === false ? 'deny' : undefined)
  if (decision === undefined) return undefined
  if (decision === 'ask' || decision === 'defer') return { ask: reason }
  // Only an answer of a person lifts a question, and nothing lifts a denial.
  if (decision === 'allow') return void remark('VT_HOOK_IGNORED', 'A lifecycle hook allows the call; hooks only tighten, so the other policies decided.')
  return { deny: decision === 'deny' ? reason : `A lifecycle hook decides ${JSON.stringify(decision)}, which is no decision.` }
}

/** The input that the hooks agree on, where it is another than the caller's. */
function anotherInput(ran: readonly Ran[], call: Call): Verdict | undefined {
  const wanted = ran.flatMap(({ said }) => {
    const input = said.kind === 'said' ? specific(said.json)['updatedInput'] : undefined
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? [input as JsonObject] : []
  })
  const different = new Set(wanted.map(canonical))
  different.delete(canonical(call.given))
  if (different.size === 0) return undefined
  if (different.size > 1) return { deny: 'Two lifecycle hooks want different inputs for this call.' }
  return { deny: 'A lifecycle hook wants another input once more.', instead: wanted.find((input) => canonical(input) !== canonical(call.given))! }
}

const canonical = (input: Readonly<JsonObject>): string => JSON.stringify(Object.entries(input).filter(([name]) => name !== 'action').sort(([a], [b]) => (a < b ? -1 : 1)))
