import { appendFileSync } from 'node:fs'
import { AgentError, toErrorMessage, type EventSink, type Store, type ThreadEvent } from '../base/index.js'

/** Formats an event as a line of a log. */
export const formatEventLine = (event: ThreadEvent): string => `${JSON.stringify({ schema_version: '1.0.0', event })}\n`

/**
 * Creates the sink that writes the events of a thread to its session. A large log is rotated at the start of a run,
 * so that every file begins with a run. Later sinks get the end of a run only after the flush, so that an unsaved run
 * is never reported as a success.
 */
export const createJournalSink =
  (store: Store): EventSink =>
  async (event) => {
    if (event.type === 'thread.started') await store.roll('events.jsonl')
    await store.append('events.jsonl', formatEventLine(event))
    if (event.type === 'thread.completed') await store.sync()
  }

/** Creates a sink that appends events to a file of the user. Throws VT_SESSION_WRITE. */
export const createFileSink =
  (file: string): EventSink =>
  (event) => {
    try {
      appendFileSync(file, formatEventLine(event), { mode: 0o600 })
    } catch (error) {
      throw new AgentError('VT_SESSION_WRITE', `Cannot write '${file}': ${toErrorMessage(error)}.`)
    }
  }
