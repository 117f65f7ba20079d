import type { Contribution } from '../shapes/index.js'

/** Receives a failure outside a call, with its contribution. */
export type OnFault = (contribution: Contribution, error: unknown) => void

interface Suspect {
  contribution: Contribution
  report: OnFault
}
/** Modules of plugins in this process, by file. */
const suspects = new Map<string, Suspect>()

let listening = false
let end: ((error: unknown) => void) | undefined
let ended = false

/** Sets the handler of uncaught errors that no plugin threw; it is called once. */
export function onUncaughtError(way: (error: unknown) => void): void {
  end = way
  listen()
}

function listen(): void {
  if (!listening)
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (error: unknown) => attributeError(event, error))
  listening = true
}

/**
 * Attributes later uncaught errors of a plugin's module to it instead of ending the process: errors of a timer or an
 * unawaited promise. The stack names the file; async context would know more, at twice the price of every call.
 */
export function watchUncaught(file: string, contribution: Contribution, report: OnFault): void {
  listen()
  suspects.set(file, { contribution, report })
}

function attributeError(event: string, error: unknown): void {
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
  // The default behaviour of Node for uncaught errors.
  console.error(error)
  process.exit(1)
}
