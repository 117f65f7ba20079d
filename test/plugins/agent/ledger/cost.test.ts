import { describe, expect, it } from 'vitest'
import { addCosts, checkPrice, CostLedger, noCost } from '../../../../build/plugins/agent/ledger/index.js'
import { calculateCost } from '../../../../build/plugins/agent/model/index.js'
import { fc } from '../../../support/property.js'

const count = fc.nat({ max: 1000 })
const usage = fc.record({
  input_tokens: count,
  cached_input_tokens: count,
  cache_creation_tokens: count,
  output_tokens: count,
})
/** Whole numbers, so that sums are exact. */
const cost = fc.record({ usage, cost: fc.oneof({ weight: 4, arbitrary: count }, fc.constant(null)) })
const request = fc.record({ aside: fc.boolean(), cost })

describe('thread costs', () => {
  it('adds side requests to the step after them and steps to the run, each once', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 12 }), count, (requests, before) => {
        const ledger = new CostLedger(before)
        let steps = noCost
        let waiting = noCost
        for (const { aside, cost } of requests) {
          if (aside) {
            ledger.recordSideRequest(cost)
            waiting = addCosts(waiting, cost)
            continue
          }
          const step = ledger.recordStep(cost)
          expect(step).toEqual(addCosts(cost, waiting))
          steps = addCosts(steps, step)
          waiting = noCost
        }
        expect(ledger.run).toEqual(steps)
        expect(addCosts(ledger.run, waiting)).toEqual(requests.map(({ cost }) => cost).reduce(addCosts, noCost))
        expect(ledger.spent).toBe(requests.reduce((sum, { cost }) => sum + (cost.cost ?? 0), before))
      }),
    )
  })
  it('marks a sum as unknown when one price is unknown, in any order', () => {
    fc.assert(
      fc.property(cost, cost, cost, (a, b, c) => {
        expect(addCosts(addCosts(a, b), c)).toEqual(addCosts(a, addCosts(b, c)))
        expect(addCosts(a, b)).toEqual(addCosts(b, a))
        expect(addCosts(a, b).cost === null).toBe(a.cost === null || b.cost === null)
        expect(addCosts(a, noCost)).toEqual(a)
      }),
    )
  })
  it('counts each token once, and cached tokens at the input price when they have none', () => {
    const used = {
      input_tokens: 1_000_000,
      cached_input_tokens: 300_000,
      cache_creation_tokens: 200_000,
      output_tokens: 100_000,
    }
    expect(calculateCost(used, { input: 2, output: 10 })).toBeCloseTo(3)
    expect(calculateCost(used, { input: 2, output: 10, cache_read: 1, cache_write: 4 })).toBeCloseTo(1 + 0.3 + 0.8 + 1)
    expect(calculateCost(used, undefined)).toBeNull()
  })
})

it('requires a price for a budget, unless the user allows a run without one', () => {
  type Arguments = Parameters<typeof checkPrice>
  const check = (cost: object | undefined, harness: object) =>
    checkPrice({ id: 'p/m', facts: { cost } } as unknown as Arguments[0], harness as Arguments[1])
  expect(() => check(undefined, { max_budget_usd: 1, allow_unpriced: false })).toThrow('p/m has no price')
  for (const [price, harness] of [
    [{ input: 1, output: 1 }, { max_budget_usd: 1 }],
    [undefined, { max_budget_usd: 1, allow_unpriced: true }],
    [undefined, {}],
  ] as const)
    expect(() => check(price, harness)).not.toThrow()
})
