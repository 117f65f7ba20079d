export { checkBudget, checkPrice } from './budget.js'
export { Purse, noBill, together, type Bill } from './cost.js'
