import type { Call, JsonObject, Mode, Next, Verdict } from '../../../core/index.js'

/** What a refusal tells beside its reason. */
export interface Saying {
  kind: 'deny' | 'ask'
  reason: string
  /** The rule that would let it pass, as the settings would write it. */
  rule?: string
  /** Where no rule would: what would. */
  way?: string
  next?: Next
  /** Whose words the reason is, where it is not ours. */
  by?: string
}

/** A verdict whose texts teach: what was not done, what to use instead, and the way out for where the reader is. */
export function verdict(call: Call, { kind, reason, rule = '', way = wayOut(call, rule), next, by }: Saying): Verdict {
  const hint = `${instead(call)}${kind === 'deny' ? 'Do not repeat the call. ' : ''}To allow it: ${way}.`
  const details: JsonObject = changes(call) ? { not_applied: true, say: say(way) } : {}
  return { ...(kind === 'deny' ? { deny: reason } : { ask: reason }), hint, ...(next && { next }), ...(by !== undefined && { by }), details }
}

const changes = (call: Call): boolean => call.effects.some((effect) => effect === 'write' || effect === 'exec')

const instead = (call: Call): string =>
  call.effects.includes('exec') ? 'Use {tool:unified_search/list} or {tool:unified_file/read} to inspect the workspace, or {tool:request_user_input} to ask the user. ' : ''

/** The sentence for the final answer when a change did not happen. */
const say = (way: string): string =>
  `Not applied. The tool was denied, so no additional tool call ran. Latest verified evidence is above; next action: ${way}.`

const chats = ['agent', 'chat', 'tui']
const looser: Partial<Record<Mode, Mode>> = { plan: 'auto', ask: 'auto' }

function wayOut(call: Call, rule: string): string {
  // Mode auto lets changes of files through and nothing else.
  const mode = call.mode === 'ask' && !call.effects.every((effect) => effect === 'read' || effect === 'write') ? undefined : looser[call.mode]
  const byRule = `the user adds the rule '${rule}' to policy.allow in ~/.vtcode/vtcode.config.yaml`
  if (!mode) return byRule
  const change = chats.includes(call.caller.surface) ? `switch to /mode ${mode}` : `run with \`--mode ${mode}\``
  return call.mode === 'plan' ? change : `${change}, or ${byRule}`
}
