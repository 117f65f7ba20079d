import type { Call, JsonObject, Next, Verdict } from '../../../core/index.js'

/** What a refusal tells beside its reason. */
export interface Saying {
  kind: 'deny' | 'ask'
  reason: string
  /** What would let it pass. */
  way: string
  /** Another way, which takes more words. */
  offer?: string | undefined
  next?: Next
  /** Whose words the reason is, where it is not ours. */
  by?: string
}

/** A verdict whose texts teach: what was not done, what to use instead, and the way out for where the reader is. */
export function verdict(call: Call, { kind, reason, way, offer, next, by }: Saying): Verdict {
  const hint = `${instead(call)}${kind === 'deny' ? 'Do not repeat the call. ' : ''}To allow it: ${way}${offer ? `, or the user sets ${offer}` : ''}.`
  const details: JsonObject = changes(call) ? { not_applied: true, say: say(way) } : {}
  return {
    ...(kind === 'deny' ? { deny: reason } : { ask: reason }),
    hint,
    ...(next && { next }),
    ...(by !== undefined && { by }),
    details,
  }
}

const changes = (call: Call): boolean => call.effects.some((effect) => effect === 'write' || effect === 'exec')

/** Full-auto puts no questions of a model to anybody. */
const instead = ({ effects, mode }: Call): string =>
  effects.includes('exec')
    ? `Use {tool:unified_search/list} or {tool:unified_file/read} to inspect the workspace${mode === 'full-auto' ? '' : ', or {tool:request_user_input} to ask the user'}. `
    : ''

/** The sentence for the final answer when a change did not happen. */
const say = (way: string): string =>
  `Not applied. The tool was denied, so no additional tool call ran. Latest verified evidence is above; next action: ${way}.`
