import type { Fact, FactOf, JournalRecord, TaskMemory } from '../base/index.js'

/** Reducers by the kind of fact. */
type Reducers<S> = { readonly [K in Fact['kind']]?: (state: S, fact: FactOf<K>, turn: number) => void }

/** A part of the session state, defined by the room that owns its facts. `Known` is the state that it extends. */
export interface StatePart<Known extends object, Own extends object> {
  begin(): Own
  readonly on: Reducers<Known & Own>
  /** Keys that a revert of the conversation restores. Their values are immutable, so keeping them is free. */
  readonly reverted?: readonly (keyof Own)[]
  /** Returns the facts that a summarized fork begins with. */
  readonly carried?: (state: Known & Own) => Fact[]
  /** Returns what the session remembers of its task. */
  readonly remembered?: (state: Known & Own) => TaskMemory
}

/** All parts with their reducers. Live and resumed runs build a state in one way: `apply`, fact after fact. */
export class StateTable<S extends object> {
  private constructor(private readonly parts: readonly StatePart<any, any>[]) {}

  static of<S extends object>(part: StatePart<object, S>): StateTable<S> {
    return new StateTable([part])
  }
  with<Own extends object>(part: StatePart<S, Own>): StateTable<S & Own> {
    return new StateTable([...this.parts, part])
  }

  /** Returns the state of a session without facts. */
  begin(): S {
    return Object.assign({}, ...this.parts.map((part) => part.begin()))
  }
  apply(state: S, fact: Fact, turn: number): void {
    for (const { on } of this.parts) (on[fact.kind] as Reducer<S> | undefined)?.(state, fact, turn)
  }

  /**
   * Returns the state after a whole journal. A revert restores the conversation; the numbers of turns, steps and calls
   * continue. `visit` gets the state before each record.
   */
  replay(records: readonly JournalRecord[], visit?: (state: S, record: JournalRecord) => void): S {
    const state = this.begin()
    const turns: { turn: number; kept: Partial<S> }[] = []
    for (const record of records) {
      const { turn } = record
      if (beginsTurn(record)) turns.push({ turn, kept: this.keepReverted(state) })
      if (record.kind === 'revert' && record.scope !== 'code')
        Object.assign(state, turns.find((one) => one.turn >= record.to_turn)!.kept)
      visit?.(state, record)
      this.apply(state, record, turn)
    }
    return state
  }

  listCarriedFacts(state: S): Fact[] {
    return this.parts.flatMap(({ carried }) => carried?.(state) ?? [])
  }

  /** Joins the lists of several parts. */
  collectMemory(state: S): TaskMemory {
    const memory: Record<string, unknown> = {}
    for (const [key, value] of this.parts.flatMap(({ remembered }) => Object.entries(remembered?.(state) ?? {}))) {
      const before = memory[key]
      memory[key] =
        Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value
    }
    return memory
  }

  private keepReverted(state: S): Partial<S> {
    return Object.fromEntries(
      this.parts.flatMap(({ reverted = [] }) => reverted.map((key) => [key, state[key as keyof S]])),
    ) as Partial<S>
  }
}
type Reducer<S> = (state: S, fact: Fact, turn: number) => void

const beginsTurn = ({ kind }: JournalRecord): boolean => kind === 'turn_start' || kind === 'revert'

/** Returns the records before a turn. */
export function listEarlierRecords(records: readonly JournalRecord[], turn: number): readonly JournalRecord[] {
  const first = records.findIndex((record) => beginsTurn(record) && record.turn >= turn)
  return first < 0 ? records : records.slice(0, first)
}
