import type { Effect, Mode } from '../../../core/index.js'

export type ModeVerdict = 'run' | 'ask' | 'deny'

/** Verdict of each mode for an effect without a rule. */
const MODE_VERDICTS: Record<Mode, Record<Effect, ModeVerdict>> = {
  plan: { read: 'run', ask: 'run', write: 'deny', exec: 'deny', net: 'ask' },
  ask: { read: 'run', ask: 'run', write: 'ask', exec: 'ask', net: 'ask' },
  auto: { read: 'run', ask: 'run', write: 'run', exec: 'ask', net: 'ask' },
  'full-auto': { read: 'run', ask: 'run', write: 'ask', exec: 'ask', net: 'ask' },
}

export const getModeVerdict = (mode: Mode, effect: Effect): ModeVerdict => MODE_VERDICTS[mode][effect]

/** Plan mode is read-only for any rules; in other modes an allow rule answers the question of the mode. */
export const canRulesAllow = (mode: Mode): boolean => mode !== 'plan'
