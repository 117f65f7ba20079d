import { AgentError, type AgentSettings } from '../base/index.js'
import { costOf, noUsage, sizeOf, tokensOf, type Model } from '../model/index.js'
import type { PaidConversation } from './cost.js'

/** A budget cannot be held without a price. Throws VT_LLM_UNPRICED. */
export function checkPrice({ id, facts }: Model, { max_budget_usd: budget, allow_unpriced }: AgentSettings['harness']): void {
  if (budget === undefined || facts.cost || allow_unpriced) return
  throw new AgentError('VT_LLM_UNPRICED', `The model ${id} has no price, so the budget of ${budget} USD cannot be held.`)
}

/** Before anything is sent: what it would cost at least must fit into what is left. Throws VT_LOOP_BUDGET, VT_LLM_UNPRICED. */
export async function checkBudget(thread: PaidConversation, system: string): Promise<void> {
  const { spent } = thread.costs
  const { max_budget_usd: budget, budget_warning_threshold } = thread.settings.harness
  if (budget === undefined) return
  checkPrice(thread.connection.model, thread.settings.harness)
  const { facts } = thread.connection.model
  const planned = costOf({ ...noUsage, input_tokens: sizeOf(thread.state.messages) + tokensOf(system) }, facts.cost) ?? 0
  if (spent + planned > budget) throw new AgentError('VT_LOOP_BUDGET', `The budget of ${budget} USD is used up: ${spent.toFixed(4)} USD were spent.`)
  if (thread.costs.warned || spent <= budget * budget_warning_threshold) return
  thread.costs.warned = true
  await thread.harness('limit_reached', { message: `${spent.toFixed(4)} of ${budget} USD are spent.` })
}
