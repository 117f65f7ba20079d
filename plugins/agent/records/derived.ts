import type { AgentSettings, EventSink } from '../base/index.js'
import { atifOf, type RecordFiles } from './atif.js'
import { readEvents } from '../runs/index.js'
import { openResponsesOf } from './open_responses.js'

/** A session that is under way: its log, what lies beside it, and a way to put files there. */
export interface DerivedPlace {
  bytes(): AsyncIterable<Uint8Array>
  files: RecordFiles
  write(name: string, text: string): Promise<void>
}

/**
 * Writes, whenever a run ends, what the settings ask for: `derived/atif-trajectory.json`, `derived/open-responses.jsonl`. They are made from
 * the log, so they are what `vtcode export` makes of it, byte for byte.
 */
export const deriveRecords =
  (
    { bytes, files, write }: DerivedPlace,
    { telemetry, agent }: Pick<AgentSettings, 'telemetry' | 'agent'>,
  ): EventSink =>
  async (event) => {
    if (event.type !== 'thread.completed') return
    const events = () => readEvents(bytes(), { damaged: 0, torn: false })
    if (telemetry.atif_enabled) await write('derived/atif-trajectory.json', await joined(atifOf(events(), files)))
    if (agent.open_responses.enabled)
      await write('derived/open-responses.jsonl', await joined(openResponsesOf(events())))
  }

async function joined(pieces: AsyncIterable<string>): Promise<string> {
  const all: string[] = []
  for await (const piece of pieces) all.push(piece)
  return all.join('')
}
