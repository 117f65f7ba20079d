import type { Contribution } from '../shapes/index.js'

/** Called for a failure outside a call, with the contribution and the error. */
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

/** Ends the program for an uncaught error that no plugin threw. */
export function endBy(way: (error: unknown) => void): void {
  end = way
  listen()
}

function listen(): void {
  if (!listening)
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (error: unknown) => blame(event, error))
  listening = true
}

/**
 * From now on, an error that a foreign module throws outside a call, from a timer or an unawaited promise, is reported for that module
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
  // A value without a stack names no module; every plugin that could have thrown it is reported.
  const found = near.length > 0 ? near : stack ? [] : all
  for (const [, { contribution, report }] of found) report(contribution, error)
  if (found.length > 0) return
  if (end) {
    if (!ended) end(error)
    ended = true
    return
  }
  if (process.listenerCount(event) > 1) return
  // Node's own behaviour for uncaught errors.
  console.error(error)
  process.exit(1)
}
