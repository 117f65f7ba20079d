import { AsyncLocalStorage } from 'node:async_hooks'
import type { Contribution } from './types.js'

/** Told of a failure outside a call: which contribution, and what was thrown. */
export type OnFault = (contribution: Contribution, error: unknown) => void

const owner = new AsyncLocalStorage<{ contribution: Contribution; report: OnFault }>()
let watching = false

/**
 * Runs foreign code so that what it throws later, from a timer or a promise nobody waits for, is put down to it instead of
 * ending the process. Built-ins do not pass here: async context costs every promise a little.
 */
export function inside<T>(contribution: Contribution, report: OnFault, run: () => T): T {
  if (!watching) watch()
  return owner.run({ contribution, report }, run)
}

function watch(): void {
  watching = true
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, function onFault(error: unknown) {
      const store = owner.getStore()
      if (store) return store.report(store.contribution, error)
      if (process.listenerCount(event) > 1) return
      // Not a plugin's: as Node would have done without us.
      console.error(error)
      process.exit(1)
    })
  }
}
