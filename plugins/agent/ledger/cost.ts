import type { Usage } from '../base/index.js'
import { add, addCost, noUsage } from '../model/index.js'
import type { Conversation } from '../session/index.js'

export interface Bill {
  usage: Usage
  /** USD; `null` where a price is not known. */
  cost: number | null
}
export const noBill: Bill = { usage: noUsage, cost: 0 }
export const together = (a: Bill, b: Bill): Bill => ({ usage: add(a.usage, b.usage), cost: addCost(a.cost, b.cost) })

/** What the model costs. */
export class Purse {
  /** Of the run. */
  run: Bill = noBill
  /** The user was told that the budget is nearly used up. */
  warned = false
  private owed: Bill = noBill

  /** `spent`: by the thread in all, in USD, as far as prices are known. */
  constructor(public spent: number) {}

  /** Notes what was asked beside the steps; the next step pays for it, so that steps add up to turns and turns to the thread. */
  owe(bill: Bill): void {
    this.owed = together(this.owed, bill)
    this.spent += bill.cost ?? 0
  }

  /** Pays a step with what was owed; returns what the step costs in all. */
  pay(bill: Bill): Bill {
    const all = together(bill, this.owed)
    this.owed = noBill
    this.spent += bill.cost ?? 0
    this.run = together(this.run, all)
    return all
  }
}

/** A conversation whose costs are kept. */
export interface PaidConversation extends Conversation {
  readonly purse: Purse
}
