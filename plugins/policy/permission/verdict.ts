import type { Call, Context, JsonObject, Next, Verdict } from '../../../core/index.js'
import { explainSecret, SECRET_NEXT_STEP } from '../../../core/workspace/index.js'
import { listPlaceNames, type CallFacts } from '../../lib/rules/index.js'

/** Parts of a verdict. */
export interface VerdictText {
  kind: 'deny' | 'ask'
  reason: string
  /** Way to allow the call. */
  way: string
  /** Another way, with a longer text. */
  offer?: string | undefined
  next?: Next
  /** Author of the reason, if it is not this program. */
  by?: string
}

/** Creates a verdict with a hint: another call, and a way to allow this one. */
export function createVerdict(call: Call, { kind, reason, way, offer, next, by }: VerdictText): Verdict {
  const advice = `${describeAlternative(call)}${kind === 'deny' ? 'Do not repeat the call. ' : ''}`
  const hint = `${advice}To allow it: ${way}${offer ? `, or the user sets ${offer}` : ''}.`
  const details: JsonObject = hasChanges(call) ? { not_applied: true, say: formatFinalAnswer(way) } : {}
  return {
    ...(kind === 'deny' ? { deny: reason } : { ask: reason }),
    hint,
    ...(next && { next }),
    ...(by !== undefined && { by }),
    details,
  }
}

const hasChanges = (call: Call): boolean => call.effects.some((effect) => effect === 'write' || effect === 'exec')

/** Full-auto asks no questions of a model. */
const describeAlternative = ({ effects, mode }: Call): string =>
  effects.includes('exec')
    ? 'Use {tool:unified_search/list} or {tool:unified_file/read} to inspect the workspace' +
      `${mode === 'full-auto' ? '' : ', or {tool:request_user_input} to ask the user'}. `
    : ''

/** Returns the sentence for the final answer about a change that was not applied. */
const formatFinalAnswer = (way: string): string =>
  'Not applied. The tool was denied, so no additional tool call ran. ' +
  `Latest verified evidence is above; next action: ${way}.`

/** Denies a call that names a secret of the home, also by a word of a command. */
export function refuseSecret({ call }: CallFacts, { explain, workspace: { isSecret } }: Context): Verdict {
  explain?.({ home: true })
  const named = listPlaceNames(call).find((name) => isSecret!(name))
  return {
    deny: explainSecret(named),
    hint: `Do not repeat the call. ${SECRET_NEXT_STEP}`,
    details: { not_applied: true },
  }
}
