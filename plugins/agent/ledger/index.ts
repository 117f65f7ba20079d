export { checkBudget, checkPrice } from './budget.js'
export { Purse, noBill, together, type Bill, type PaidConversation } from './cost.js'
