import { openWorkspace, type Kernel } from '../../../core/index.js'
import { readDialogue } from '../../agent/cli/index.js'
import type { ThreadEvent } from '../../agent/index.js'
import { CALLS_FOLDER } from '../../lib/state/index.js'
import { UpdateWriter, type SendUpdate } from './updates.js'

/** The largest event log that is replayed with its calls, in bytes; of a larger one only the messages are. */
const MAX_LOG_BYTES = 16 * 1024 * 1024

/** Sends the history of a session as updates: messages and calls. */
export async function replaySession(kernel: Kernel, session_id: string, send: SendUpdate): Promise<void> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const log = await workspace
      .readText(`${CALLS_FOLDER}/${session_id}/events.jsonl`, { max_bytes: MAX_LOG_BYTES })
      .catch(() => undefined)
    if (log !== undefined) return await replayEvents(kernel, log, send)
    for (const { by, text } of await readDialogue(workspace, session_id))
      await send({
        sessionUpdate: by === 'person' ? 'user_message_chunk' : 'agent_message_chunk',
        content: { type: 'text', text },
      })
  } finally {
    workspace.close()
  }
}

async function replayEvents(kernel: Kernel, log: string, send: SendUpdate): Promise<void> {
  const writer = new UpdateWriter(kernel, send)
  for (const line of log.split('\n')) {
    const event = parseEvent(line)
    // Everything that an item ever was stands in its end.
    if (event?.type === 'item.completed' || event?.type === 'turn.completed' || event?.type === 'turn.failed')
      await writer.handleEvent(event)
  }
}

function parseEvent(line: string): ThreadEvent | undefined {
  try {
    return line === '' ? undefined : (JSON.parse(line) as { event?: ThreadEvent }).event
  } catch {
    // A process that died leaves an incomplete last line.
    return undefined
  }
}
