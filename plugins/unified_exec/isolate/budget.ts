import { AsyncLocalStorage } from 'node:async_hooks'

/** Requests of a script to the store, and bytes that they and their answers carry. */
const STORE_LIMITS = { requests: 10_000, bytes: 64 * 1024 * 1024 }

const budgets = new AsyncLocalStorage<Budget>()

/** The calls and requests that a script and the scripts that it starts may make in all. */
export class Budget {
  #calls = 0
  #requests = 0
  #bytes = 0

  private constructor(private readonly calls: number) {}

  /** Returns the budget of the script that started this one, or a new one. */
  static find(calls: number): Budget {
    return budgets.getStore() ?? new Budget(calls)
  }

  /** Starts work whose scripts share this budget. */
  share<T>(work: () => T): T {
    return budgets.run(this, work)
  }

  /** Counts a call. Returns false where none is left. */
  takeCall(): boolean {
    this.#calls += 1
    return this.#calls <= this.calls
  }

  /** Counts a request to the store. Returns why it is refused. */
  takeRequest(bytes: number): string | undefined {
    this.#requests += 1
    this.#bytes += bytes
    const { requests, bytes: most } = STORE_LIMITS
    if (this.#requests > requests) return `A script may make at most ${requests} requests to the store.`
    return this.#bytes > most ? `A script may move at most ${most} bytes to and from the store.` : undefined
  }

  /** Counts the answer to a request to the store. */
  addAnswer(bytes: number): void {
    this.#bytes += bytes
  }
}
