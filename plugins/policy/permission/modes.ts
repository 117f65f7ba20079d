import type { Effect, Mode } from '../../../core/index.js'

export type ModeWord = 'run' | 'ask' | 'deny'

/** What a mode says about an effect when no rule speaks. */
const table: Record<Mode, Record<Effect, ModeWord>> = {
  plan: { read: 'run', ask: 'run', write: 'deny', exec: 'deny', net: 'ask' },
  ask: { read: 'run', ask: 'run', write: 'ask', exec: 'ask', net: 'ask' },
  auto: { read: 'run', ask: 'run', write: 'run', exec: 'ask', net: 'ask' },
  'full-auto': { read: 'run', ask: 'run', write: 'ask', exec: 'ask', net: 'ask' },
}

export const word = (mode: Mode, effect: Effect): ModeWord => table[mode][effect]

/** Plan mode is read-only whatever the rules say; elsewhere an allow rule answers the question that the mode would ask. */
export const rulesLift = (mode: Mode): boolean => mode !== 'plan'
