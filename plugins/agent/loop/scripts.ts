import { redact } from '../../../core/text/index.js'
import type { Effect, JsonObject, Result } from '../../../core/shapes/index.js'
import { isQuiet, toCallIdentity, type CallMeaning, type CallPart } from '../base/index.js'
import type { Conversation } from '../session/index.js'

/** The function that calls any tool within a script. */
const CALL = 'vtcode.call'

/** Steps with a like call before a script is suggested, and bytes of the suggestion. */
const LIMITS = { steps: 3, bytes: 700 }

/** The like calls of the last steps of a conversation. */
interface Row {
  slot: string
  identities: Set<string>
  inputs: JsonObject[]
  suggested: boolean
}
const rows = new WeakMap<Conversation, Row>()

/** A call that ended; `alone`: the only one of its step. */
interface EndedCall {
  call: CallPart
  meaning: CallMeaning
  succeeded: boolean
  alone: boolean
}

/**
 * Records a call. Returns a suggestion after the third reading call of one slot in a row, once a conversation: the
 * script that makes these calls at once. `undefined` where scripts are not possible.
 */
export function suggestScript(thread: Conversation, ended: EndedCall): string | undefined {
  const { call, meaning, succeeded, alone } = ended
  const { slot, prepared } = meaning
  const row = rows.get(thread) ?? { slot: '', identities: new Set<string>(), inputs: [], suggested: false }
  rows.set(thread, row)
  const isQuietCall = prepared !== undefined && isQuiet(prepared.effects)
  const isLike = slot !== undefined && isQuietCall && alone && succeeded && !slot.audience && !slot.runs_calls
  if (!isLike || row.slot !== slot.slot)
    Object.assign(row, { slot: slot?.slot ?? '', identities: new Set(), inputs: [] })
  if (!isLike || row.suggested) return undefined
  const { action: _, ...input } = meaning.input
  row.identities.add(toCallIdentity(call, meaning))
  row.inputs.push(input)
  if (row.inputs.length < LIMITS.steps || row.identities.size < LIMITS.steps) return undefined
  const text = renderSuggestion(thread, slot.slot, row.inputs)
  row.suggested = text !== undefined
  return text
}

function renderSuggestion(thread: Conversation, slot: string, inputs: readonly JsonObject[]): string | undefined {
  const { kernel, connection } = thread
  if (connection.model.facts.supports_code_mode === false) return undefined
  const runner = kernel.list().find(({ runs_calls }) => runs_calls)
  if (!runner || !thread.tools().some(({ name }) => name === runner.tool)) return undefined
  const call = `${CALL}('${slot}', input)`
  const script = `return await Promise.all(${JSON.stringify(redact([...inputs]))}.map((input) => ${call}))`
  const name = kernel.inspection.renderText(`{slot:${runner.slot}}`)
  const text = `[script] ${name} can make these ${inputs.length} calls at once, and more: ${script}`
  return Buffer.byteLength(text) > LIMITS.bytes ? undefined : text
}

/** Returns the effects of a call that ended; those of a script are its own and those of its calls. */
export function findDoneEffects(
  { effects, meaning }: { effects: readonly Effect[]; meaning: CallMeaning },
  result: Result,
): readonly Effect[] {
  const done = meaning.slot?.runs_calls && result.ok ? result.output['effects'] : undefined
  if (!Array.isArray(done)) return effects
  const own = meaning.prepared?.effects ?? effects
  return effects.filter((effect) => own.includes(effect) || done.includes(effect))
}
