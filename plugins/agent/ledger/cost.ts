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

/** The costs of a thread: of its steps and of requests between them. */
export class CostLedger {
  /** Of the run. */
  run: Cost = noCost
  /** Of the current turn, or of the last one. */
  turn: Cost = noCost
  /** Requests of the run to a model. */
  requests = 0
  /** The user has seen that the budget is nearly used up. */
  warned = false
  private sideCost: Cost = noCost

  /**
   * `own`: USD that the thread spent before, as far as prices are known. `parent`: the ledger with the budget, for
   * delegated work.
   */
  constructor(
    private own: number,
    private readonly parent?: CostLedger,
  ) {}

  /** USD that count against the budget, as far as prices are known. */
  get spent(): number {
    return this.parent?.spent ?? this.own
  }

  /** Resets the figures of the run. */
  begin(): void {
    this.run = noCost
    this.requests = 0
  }

  beginTurn(): void {
    this.turn = noCost
  }

  /**
   * Records a request outside the steps, such as a summary. The next step includes it, so that steps add up to turns
   * and turns to the thread.
   */
  recordSideRequest(cost: Cost): void {
    this.sideCost = addCosts(this.sideCost, cost)
    this.requests += 1
    this.pay(cost)
  }
  private pay(cost: Cost): void {
    this.own += cost.cost ?? 0
    this.parent?.recordSideRequest(cost)
  }

  /** Records a step; returns its cost including the side requests before it. */
  recordStep(cost: Cost): Cost {
    const all = addCosts(cost, this.sideCost)
    this.sideCost = noCost
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
