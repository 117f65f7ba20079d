import {
  failure,
  firstLine,
  markNotApplied,
  problem,
  VtError,
  type Failure,
  type Result,
  type SlotInfo,
} from '../shapes/index.js'
import { translateAnswer, listEffectsByName, addExample, type CallTarget } from '../input/index.js'
import type { Generation } from '../generation/index.js'

// Failures of calls that were rejected before their check.

export const createFailure = (...of: Parameters<typeof problem>): Failure => ({
  ok: false,
  error: problem(...of).problem,
})

/** Returns the contract of a name without a slot. */
export const createEmptyInfo = (slot: string): SlotInfo => ({
  slot,
  tool: slot,
  description: '',
  effects: [],
  families: [],
  input: {},
  detailed: [],
  errors: {},
  chain: [],
  names: [slot],
  aliases: [],
})

/** Returns whether a call could have changed something: without a slot, all effects of its tool count. */
export function couldChange({ registry }: Generation, name: string, target: CallTarget | undefined): boolean {
  const effects = target ? target.slot.info.effects : listEffectsByName(registry, name)
  return effects.some((effect) => effect === 'write' || effect === 'exec')
}

/**
 * Converts an error from before the slot ran into a failure; its example uses the called name. `prevented`: a possible
 * change did not happen.
 */
export function toFailure(error: unknown, prevented: boolean, target?: CallTarget): Failure {
  const { slot, alias } = target ?? {}
  const known =
    failure(addExample(error, alias?.slot ?? slot)) ??
    createFailure('VT_CALL_FAILED', { plugin: 'kernel', reason: firstLine(error) })
  if (prevented) known.error = markNotApplied(known.error)
  return alias ? (translateAnswer(alias.part, known, alias.given) as Failure) : known
}

/** Adds a valid example, with the called name, to a plugin's failure without a hint. */
export function addMissingHint(result: Result, { slot, alias }: Partial<CallTarget> = {}): Result {
  if (result.ok || result.error.hint !== '') return result
  return { ...result, ...failure(addExample(new VtError(result.error), alias?.slot ?? slot)) }
}
