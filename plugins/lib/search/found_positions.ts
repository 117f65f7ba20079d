import { countBytesRead, type Consumer } from '../process/index.js'
import { FirstMatches, type CountedFile } from './first_matches.js'
import { canSpanLines } from './pattern.js'
import { EngineFault } from './ripgrep.js'
import { createEventReader, type ReadPositions } from './ripgrep_events.js'
import type { SearchState } from './run_query.js'

/** Order of a run that reports positions, and whether it ends when it has found more than the wanted matches. */
export type Order = 'whole' | 'any' | 'path'

/**
 * Match density from which a run that only counts is faster than one that reports positions. `bytes`: at most so many
 * bytes are read for each match.
 */
const FLOOD = { matches: 1000, bytes: 4096 }

/** A run that has read this much continues to its end although its answer is full. */
const MAX_STOPPED_BYTES = 67_108_864

/** The matches of one run that reports positions. */
export class FoundPositions {
  readonly first: FirstMatches
  readonly read: Consumer
  searched = 0
  bytes = 0
  /** The engine printed its totals. */
  whole = false
  /** The run was stopped because it had found more than the wanted matches. */
  full = false
  private mayStop: boolean
  private file: (CountedFile & { places: ReadPositions[] }) | undefined

  constructor(
    private readonly state: SearchState,
    private readonly order: Order,
  ) {
    const { query, target, readName } = state
    const several = canSpanLines(query)
    const wanted = query.where!
    this.first = new FirstMatches(wanted)
    this.mayStop = order !== 'whole'
    const isFlood =
      target.kind === 'file' || several ? () => false : createFloodGauge(wanted, () => countBytesRead(state.pid))
    this.read = createEventReader(several, {
      onFile: (name) => this.begin(readName(name)),
      onMatch: (places) => this.add(places, several),
      onEnd: (lines, matches) => {
        if (this.file) this.first.add(this.file, several ? matches : lines)
        this.full = this.isEnough(0)
        return this.full || isFlood(lines) ? false : undefined
      },
      onSearched: (files, read) => void ([this.searched, this.bytes, this.whole] = [files, read, true]),
    })
  }

  private begin(path: string): boolean {
    this.file = this.state.isCounted(path) ? { file: path, count: 0, places: [] } : undefined
    return this.file !== undefined && this.first.canHold(path)
  }

  private add(places: ReadPositions, several: boolean): 'next file' | false | undefined {
    const { file } = this
    if (!file) throw new EngineFault('the engine prints a match before its file')
    // Matches of one line are parsed when they are shown.
    if (several) for (const place of places()) file.places.push(() => [place])
    else file.places.push(places)
    const count = file.places.length
    this.full = this.isEnough(count)
    if (this.full) this.first.add(file, count)
    return this.full ? false : count > this.state.query.where! ? 'next file' : undefined
  }

  /** Returns whether the run ends here, with `more` matches in the current file. */
  private isEnough(more: number): boolean {
    if (!this.mayStop || this.first.total + more <= this.state.query.where!) return false
    return (this.mayStop = this.order === 'path' || countBytesRead(this.state.pid) < MAX_STOPPED_BYTES)
  }
}

/** Creates a gauge that gets the match count of each file and returns `true` once if matches are too dense. */
function createFloodGauge(wanted: number, bytes: () => number): (matches: number) => boolean {
  const enough = Math.max(FLOOD.matches, 2 * wanted)
  let count = 0
  return (matches) => {
    const before = count
    count += matches
    if (before >= enough || count < enough) return false
    const read = bytes()
    return read > 0 && read < count * FLOOD.bytes
  }
}
