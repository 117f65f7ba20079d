import { appendFileSync } from 'node:fs'
import { AgentError, messageOf, type EventSink, type Store, type ThreadEvent } from '../base/index.js'

/** An event as logs have it. */
export const eventLine = (event: ThreadEvent): string => `${JSON.stringify({ schema_version: '1.0.0', event })}\n`

/**
 * Keeps the events of a thread with its session; what has grown large is put aside when a run begins, so that every file begins with one.
 * Later sinks get the end of a run when all of it is on disk, so that a run that was not kept is never reported as a success.
 */
export const persist =
  (store: Store): EventSink =>
  async (event) => {
    if (event.type === 'thread.started') await store.roll('events.jsonl')
    await store.append('events.jsonl', eventLine(event))
    if (event.type === 'thread.completed') await store.sync()
  }

/** The same lines in a file of the user's. Throws VT_SESSION_WRITE. */
export const copyTo =
  (file: string): EventSink =>
  (event) => {
    try {
      appendFileSync(file, eventLine(event), { mode: 0o600 })
    } catch (error) {
      throw new AgentError('VT_SESSION_WRITE', `${file} cannot be written: ${messageOf(error)}.`)
    }
  }
