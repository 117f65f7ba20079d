import type { Usage } from '../base/index.js'
import { addUsage, addUsd, noUsage } from '../model/index.js'
import type { Conversation } from '../session/index.js'

export interface Cost {
  usage: Usage
  /** USD; `null` where a price is not known. */
  cost: number | null
}
export const noCost: Cost = { usage: noUsage, cost: 0 }
export const addCosts = (a: Cost, b: Cost): Cost => ({
  usage: addUsage(a.usage, b.usage),
  cost: addUsd(a.cost, b.cost),
})

/** The costs of a thread: of its steps, and of requests beside them. */
export class CostLedger {
  /** Of the run. */
  run: Cost = noCost
  /** Of the turn under way, or of the last one. */
  turn: Cost = noCost
  /** Made by the run, to a model. */
  requests = 0
  /** The user was told that the budget is nearly used up. */
  warned = false
  private aside: Cost = noCost

  /** `own`: what the thread spent before, in USD, as far as prices are known. `above`: of the thread that it does a part of the work of, whose budget it has. */
  constructor(
    private own: number,
    private readonly above?: CostLedger,
  ) {}

  /** What counts against the budget, in USD, as far as prices are known. */
  get spent(): number {
    return this.above?.spent ?? this.own
  }

  /** A run begins. */
  begin(): void {
    this.run = noCost
    this.requests = 0
  }

  beginTurn(): void {
    this.turn = noCost
  }

  /** Records a request beside the steps, such as a summary. The next step includes it, so that steps add up to turns and turns to the thread. */
  recordAside(cost: Cost): void {
    this.aside = addCosts(this.aside, cost)
    this.requests += 1
    this.pay(cost)
  }
  private pay(cost: Cost): void {
    this.own += cost.cost ?? 0
    this.above?.recordAside(cost)
  }

  /** Records a step; returns its cost with that of the requests recorded aside before it. */
  recordStep(cost: Cost): Cost {
    const all = addCosts(cost, this.aside)
    this.aside = noCost
    this.requests += 1
    this.pay(cost)
    this.run = addCosts(this.run, all)
    this.turn = addCosts(this.turn, all)
    return all
  }
}

/** A conversation whose costs are kept. */
export interface PaidConversation extends Conversation {
  readonly costs: CostLedger
}
