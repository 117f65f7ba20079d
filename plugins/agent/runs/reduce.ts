import { RunReducer, type LoggedEvent } from './run_reducer.js'
import type { RunPiece, TracedRun, TurnRecord } from './types.js'

/**
 * Reduces a whole log at once. Takes events of `readEvents`, of `onEvent`, or printed by `vtcode exec --json`. Unknown
 * events are counted, unknown fields ignored. Never throws for the content of a log.
 */
export function reduce(events: Iterable<LoggedEvent>): TracedRun {
  const reducer = new RunReducer()
  const run = new RunCollector(reducer)
  for (const event of events) run.take(reducer.add(event))
  run.take(reducer.end())
  return run.toRun()
}

/** Reduces a log that is read piece by piece. */
export async function reduceLog(events: AsyncIterable<LoggedEvent>): Promise<TracedRun> {
  const reducer = new RunReducer()
  const run = new RunCollector(reducer)
  for await (const event of events) run.take(reducer.add(event))
  run.take(reducer.end())
  return run.toRun()
}

/** Collects pieces into turns. */
export class RunCollector {
  private readonly turns: TurnRecord[] = []
  /** Entries between two turns. */
  private between: TurnRecord['entries'] = []

  constructor(private readonly reducer: Pick<RunReducer, 'head' | 'totals'>) {}

  take(pieces: readonly RunPiece[]): void {
    for (const piece of pieces) this.addPiece(piece)
  }

  private addPiece(piece: RunPiece): void {
    const last = this.turns.at(-1)
    if (piece.kind === 'run_start' || piece.kind === 'run_end') return
    if (piece.kind === 'turn_start') {
      this.turns.push({ ...piece.turn, status: 'open', ended_at: piece.turn.started_at, entries: this.between })
      this.between = []
    } else if (piece.kind === 'turn_end') Object.assign(last ?? {}, piece.turn)
    else if (last?.status === 'open') last.entries.push(piece)
    else this.between.push(piece)
  }

  toRun(): TracedRun {
    const { head, totals } = this.reducer
    const last = this.turns.at(-1)
    if (last) last.entries.push(...this.between)
    else if (this.between.length > 0)
      this.turns.push({
        turn_id: '',
        number: 0,
        started_at: head.started_at,
        ended_at: totals.ended_at,
        status: 'open',
        entries: this.between,
      })
    this.between = []
    return { head, turns: this.turns, totals }
  }
}
