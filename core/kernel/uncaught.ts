import type { Contribution } from '../base/index.js'

/** Told of a failure outside a call: which contribution, and what was thrown. */
export type OnFault = (contribution: Contribution, error: unknown) => void

interface Suspect {
  contribution: Contribution
  report: OnFault
}
/** Foreign modules in this process, by file. */
const suspects = new Map<string, Suspect>()

let listening = false
let end: ((error: unknown) => void) | undefined
let ended = false

/** What nobody caught and no plugin threw ends the program this way. */
export function endBy(way: (error: unknown) => void): void {
  end = way
  listen()
}

function listen(): void {
  if (!listening) for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, (error: unknown) => blame(event, error))
  listening = true
}

/**
 * From now on, what a foreign module throws outside a call, from a timer or a promise nobody waits for, is put down to it
 * instead of ending the process. The stack names the file; async context would know more, at twice the price of every call.
 */
export function watchUncaught(file: string, contribution: Contribution, report: OnFault): void {
  listen()
  suspects.set(file, { contribution, report })
}

function blame(event: string, error: unknown): void {
  const stack = error instanceof Error ? String(error.stack) : ''
  const all = [...suspects]
  const named = all.filter(([file]) => stack.includes(file))
  const near = named.length > 0 ? named : all.filter(([, { contribution }]) => stack.includes(contribution.root))
  // A value without a stack may be anybody's; every plugin that could have thrown it is told.
  const found = near.length > 0 ? near : stack ? [] : all
  for (const [, { contribution, report }] of found) report(contribution, error)
  if (found.length > 0) return
  if (end) {
    if (!ended) end(error)
    ended = true
    return
  }
  if (process.listenerCount(event) > 1) return
  // As Node would have done without us.
  console.error(error)
  process.exit(1)
}
