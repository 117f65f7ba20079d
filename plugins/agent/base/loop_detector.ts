interface CallRecord {
  identity: string
  digest: string
}
const MAX_CALLS = 24
const REPEATS = { warn: 4, stop: 8, period: 4 }

/** Detects loops of calls with the same results. Results are compared, so a call whose result changed is no loop. */
export class LoopDetector {
  private readonly pairs: CallRecord[] = []
  private readonly lastResults = new Map<string, { digest: string; times: number }>()

  /** Returns the loop that a call would continue, `undefined` if there is none. Call this before the call. */
  describeLoop(identity: string): string | undefined {
    const times = this.lastResults.get(identity)?.times ?? 0
    if (times >= REPEATS.stop) return `The same call gave the same result ${times} times.`
    for (let period = 2; period <= 6; period++) {
      const tail = this.pairs.slice(-period * REPEATS.period)
      if (tail.length < period * REPEATS.period || tail[0]!.identity !== identity) continue
      const isCircle = tail.every(
        ({ identity, digest }, index) =>
          identity === tail[index % period]!.identity && digest === tail[index % period]!.digest,
      )
      // One repeated call is no circle of several calls: the other rules count it.
      if (!isCircle || new Set(tail.slice(0, period).map(({ identity }) => identity)).size === 1) continue
      // The refused call stays part of the circle, so that the next call of the circle is refused too.
      this.push(tail[0]!)
      return `The last ${tail.length} calls are ${period} calls in a circle, ${REPEATS.period} times.`
    }
    return undefined
  }

  /** Records the result of a call; returns a warning when a loop begins. */
  record(identity: string, digest: string, effects: { quiet: boolean; write: boolean }): string | undefined {
    this.push({ identity, digest })
    if (effects.quiet) return undefined
    const known = this.lastResults.get(identity)
    const times = known?.digest === digest ? known.times + 1 : 1
    // A change in between makes a repeated call a new one.
    if (effects.write) this.lastResults.clear()
    this.lastResults.set(identity, { digest, times })
    return times === REPEATS.warn ? `This is the same call with the same result for the ${times}th time.` : undefined
  }

  private push(pair: CallRecord): void {
    this.pairs.push(pair)
    if (this.pairs.length > MAX_CALLS) this.pairs.shift()
  }
}
