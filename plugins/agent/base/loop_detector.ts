interface Pair {
  identity: string
  digest: string
}
const watched = 24
const repeats = { warn: 4, stop: 8, period: 4 }

/** Detects loops of calls with the same results. Results are compared, so a call whose result changed is no loop. */
export class LoopDetector {
  private readonly pairs: Pair[] = []
  private readonly same = new Map<string, { digest: string; times: number }>()

  /** Why a call would only continue a loop; asked before the call. */
  objection(identity: string): string | undefined {
    const times = this.same.get(identity)?.times ?? 0
    if (times >= repeats.stop) return `The same call gave the same result ${times} times.`
    for (let period = 2; period <= 6; period++) {
      const tail = this.pairs.slice(-period * repeats.period)
      if (tail.length < period * repeats.period || tail[0]!.identity !== identity) continue
      const circles = tail.every(
        ({ identity, digest }, index) =>
          identity === tail[index % period]!.identity && digest === tail[index % period]!.digest,
      )
      // One call over and over is no circle of several: the other rules count that.
      if (!circles || new Set(tail.slice(0, period).map(({ identity }) => identity)).size === 1) continue
      // What is refused belongs to the circle: the call behind it is refused too.
      this.push(tail[0]!)
      return `The last ${tail.length} calls are ${period} calls in a circle, ${repeats.period} times.`
    }
    return undefined
  }

  /** Notes the result of a call; returns a remark when a loop begins. */
  note(identity: string, digest: string, effects: { quiet: boolean; write: boolean }): string | undefined {
    this.push({ identity, digest })
    if (effects.quiet) return undefined
    const known = this.same.get(identity)
    const times = known?.digest === digest ? known.times + 1 : 1
    // Another change in between makes the same call a new one.
    if (effects.write) this.same.clear()
    this.same.set(identity, { digest, times })
    return times === repeats.warn ? `This is the same call with the same result for the ${times}th time.` : undefined
  }

  private push(pair: Pair): void {
    this.pairs.push(pair)
    if (this.pairs.length > watched) this.pairs.shift()
  }
}
