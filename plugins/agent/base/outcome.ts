import type { OutcomeCode, Subtype } from './types.js'

const subtypes: Partial<Record<OutcomeCode, Subtype>> = {
  success: 'success',
  turn_limit_reached: 'error_max_turns',
  budget_limit_reached: 'error_max_budget_usd',
  cancelled: 'cancelled',
}

/** What an outcome means to whoever started the run: only a success exits 0. */
export function verdictOf(code: OutcomeCode): { subtype: Subtype; exit_code: number } {
  const subtype = subtypes[code] ?? 'error_during_execution'
  return { subtype, exit_code: code === 'success' ? 0 : code === 'cancelled' ? 130 : 1 }
}
