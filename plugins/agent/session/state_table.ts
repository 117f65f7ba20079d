import type { Fact, FactOf, JournalRecord, TaskMemory } from '../base/index.js'

/** What facts do to a state, by their kind. */
type Reducers<S> = { readonly [K in Fact['kind']]?: (state: S, fact: FactOf<K>, turn: number) => void }

/** A part of the state of a session: the room whose facts make it brings it. `Known` is the state that it builds on. */
export interface StatePart<Known extends object, Own extends object> {
  begin(): Own
  readonly on: Reducers<Known & Own>
  /** What a revert of the conversation brings back. Nothing in it is changed in place, so that keeping it costs nothing. */
  readonly reverted?: readonly (keyof Own)[]
  /** The facts that a fork begins with where it leaves the conversation behind. */
  readonly carried?: (state: Known & Own) => Fact[]
  /** What the session remembers of its task. */
  readonly remembered?: (state: Known & Own) => TaskMemory
}

/** The table fact → reducers of all parts. Live and resumed runs build a state the same way: by `apply`, fact after fact. */
export class StateTable<S extends object> {
  private constructor(private readonly parts: readonly StatePart<any, any>[]) {}

  static of<S extends object>(part: StatePart<object, S>): StateTable<S> {
    return new StateTable([part])
  }
  with<Own extends object>(part: StatePart<S, Own>): StateTable<S & Own> {
    return new StateTable([...this.parts, part])
  }

  /** The state of a session without a fact. */
  begin(): S {
    return Object.assign({}, ...this.parts.map((part) => part.begin()))
  }
  apply(state: S, fact: Fact, turn: number): void {
    for (const { on } of this.parts) (on[fact.kind] as Reducer<S> | undefined)?.(state, fact, turn)
  }

  /** The state after a whole journal. A reverted conversation is what it was before that turn; the numbers of turns, steps and calls go on. */
  replay(records: readonly JournalRecord[]): S {
    const state = this.begin()
    const turns: { turn: number; kept: Partial<S> }[] = []
    for (const record of records) {
      const { turn } = record
      if (beginsTurn(record)) turns.push({ turn, kept: this.keepReverted(state) })
      if (record.kind === 'revert' && record.scope !== 'code')
        Object.assign(state, turns.find((one) => one.turn >= record.to_turn)!.kept)
      this.apply(state, record, turn)
    }
    return state
  }

  listCarriedFacts(state: S): Fact[] {
    return this.parts.flatMap(({ carried }) => carried?.(state) ?? [])
  }

  /** Lists of several parts are joined. */
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

/** The records before a turn. */
export function takeRecordsBefore(records: readonly JournalRecord[], turn: number): readonly JournalRecord[] {
  const first = records.findIndex((record) => beginsTurn(record) && record.turn >= turn)
  return first < 0 ? records : records.slice(0, first)
}
