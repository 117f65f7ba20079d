import { AgentError, type AgentSettings } from '../base/index.js'
import { calculateCost, type RequestContext } from '../model/index.js'
import type { Model } from '../providers/index.js'
import type { PaidConversation } from './cost.js'

/** Checks that a budget has a price to count with. Throws VT_LLM_UNPRICED. */
export function checkPrice(
  { id, facts }: Model,
  { max_budget_usd: budget, allow_unpriced }: AgentSettings['harness'],
): void {
  if (budget === undefined || facts.cost || allow_unpriced) return
  throw new AgentError(
    'VT_LLM_UNPRICED',
    `The model ${id} has no price, so the budget of ${budget} USD cannot be held.`,
  )
}

type BudgetGuard = Required<Pick<RequestContext, 'checkBudget' | 'onLost'>>

/**
 * Creates the checks that hold each attempt of a request to the budget of a thread: spent plus minimum cost must fit.
 * Throws VT_LOOP_BUDGET, VT_LLM_UNPRICED.
 */
export const createBudgetGuard = (thread: PaidConversation): BudgetGuard => ({
  onLost: (cost) => thread.costs.recordSideRequest(cost),
  async checkBudget(input, lost, model) {
    const { max_budget_usd: budget, budget_warning_threshold } = thread.settings.harness
    if (budget === undefined) return
    checkPrice(model, thread.settings.harness)
    const spent = thread.costs.spent + (lost ?? 0)
    const planned = calculateCost(input, model.facts.cost) ?? 0
    if (spent + planned > budget) {
      const next = planned > 0 ? `; the next request costs at least ${planned.toFixed(4)}` : ''
      throw new AgentError(
        'VT_LOOP_BUDGET',
        `The budget of ${budget} USD is used up: ${spent.toFixed(4)} USD were spent${next}.`,
      )
    }
    if (thread.costs.warned || spent <= budget * budget_warning_threshold) return
    thread.costs.warned = true
    await thread.harness('limit_reached', { message: `${spent.toFixed(4)} of ${budget} USD are spent.` })
  },
})
