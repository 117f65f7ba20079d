export { createBudgetGuard, checkPrice } from './budget.js'
export { addCosts, CostLedger, noCost, type Cost, type PaidConversation } from './cost.js'
