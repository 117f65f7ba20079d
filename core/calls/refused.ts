import {
  failure,
  firstLine,
  notApplied,
  problem,
  VtError,
  type Failure,
  type Result,
  type SlotInfo,
} from '../shapes/index.js'
import { answerAs, effectsOfName, withExample, type CallTarget } from '../input/index.js'
import type { Generation } from '../generation/index.js'

// What is told of a call that was refused before it was checked.

export const failed = (...of: Parameters<typeof problem>): Failure => ({ ok: false, error: problem(...of).problem })

/** The contract of a name without a slot. */
export const nobody = (slot: string): SlotInfo => ({
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

/** Whether a call could have changed something: a call without a slot is judged by all effects of its tool. */
export function couldChange({ registry }: Generation, name: string, target: CallTarget | undefined): boolean {
  const effects = target ? target.slot.info.effects : effectsOfName(registry, name)
  return effects.some((effect) => effect === 'write' || effect === 'exec')
}

/** An error from before the slot ran, as a failure; its example uses the name that was called. A possible change was then `prevented`. */
export function asFailure(error: unknown, prevented: boolean, target?: CallTarget): Failure {
  const { slot, alias } = target ?? {}
  const known =
    failure(withExample(error, alias?.slot ?? slot)) ??
    failed('VT_CALL_FAILED', { plugin: 'kernel', reason: firstLine(error) })
  if (prevented) known.error = notApplied(known.error)
  return alias ? (answerAs(alias.part, known, alias.given) as Failure) : known
}

/** What a plugin says of a wrong input without a way on gets an example that would pass, under the name that was called. */
export function withWayOn(result: Result, { slot, alias }: Partial<CallTarget> = {}): Result {
  if (result.ok || result.error.hint !== '') return result
  return { ...result, ...failure(withExample(new VtError(result.error), alias?.slot ?? slot)) }
}
