import type { AgentSettings, EventSink } from '../base/index.js'
import { exportAtif, type RecordFiles } from './atif.js'
import { readEvents } from '../runs/index.js'
import { exportOpenResponses } from './open_responses.js'

/** An active session: its log and files, and a writer for new files. */
export interface DerivedPlace {
  bytes(): AsyncIterable<Uint8Array>
  files: RecordFiles
  write(name: string, text: string): Promise<void>
}

/**
 * Writes the files of the settings at the end of each run: `derived/atif-trajectory.json`,
 * `derived/open-responses.jsonl`. They come from the log and equal the output of `vtcode export` byte for byte.
 */
export const deriveRecords =
  (
    { bytes, files, write }: DerivedPlace,
    { telemetry, agent }: Pick<AgentSettings, 'telemetry' | 'agent'>,
  ): EventSink =>
  async (event) => {
    if (event.type !== 'thread.completed') return
    const events = () => readEvents(bytes(), { damaged: 0, torn: false })
    if (telemetry.atif_enabled)
      await write('derived/atif-trajectory.json', await joinPieces(exportAtif(events(), files)))
    if (agent.open_responses.enabled)
      await write('derived/open-responses.jsonl', await joinPieces(exportOpenResponses(events())))
  }

async function joinPieces(pieces: AsyncIterable<string>): Promise<string> {
  const all: string[] = []
  for await (const piece of pieces) all.push(piece)
  return all.join('')
}
