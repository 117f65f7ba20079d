import { appendFileSync } from 'node:fs'
import { AgentError, messageOf, type Sink, type Store, type ThreadEvent } from '../base/index.js'

/** An event as logs have it. */
export const wrapped = (event: ThreadEvent): string => `${JSON.stringify({ schema_version: '1.0.0', event })}\n`

/**
 * Keeps the events of a thread with its session; what has grown large is put aside when a run begins, so that every file begins with one.
 * The end of a run is told to others when all of it is on disk, so that nothing that was not kept is called a success.
 */
export const persist = (store: Store): Sink => async (event) => {
  if (event.type === 'thread.started') await store.roll('events.jsonl')
  await store.append('events.jsonl', wrapped(event))
  if (event.type === 'thread.completed') await store.sync()
}

/** The same lines in a file of the user's. Throws VT_SESSION_WRITE. */
export const copyTo = (file: string): Sink => (event) => {
  try {
    appendFileSync(file, wrapped(event), { mode: 0o600 })
  } catch (error) {
    throw new AgentError('VT_SESSION_WRITE', `${file} cannot be written: ${messageOf(error)}.`)
  }
}
