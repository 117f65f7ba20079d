import type { Workspace } from '../../../core/workspace/index.js'
import { AgentError, clock, createIdMaker, random } from '../base/index.js'
import { fork, noteSession, readRecords } from '../history/index.js'
import { messageText } from '../session/index.js'
import { threadTable } from '../thread_state.js'

/**
 * Forks a session before a turn; returns the id of the fork and the input of the turn. Throws VT_SESSION_NOT_FOUND,
 * VT_SESSION_CORRUPT, VT_SESSION_FOREIGN, VT_REPLAY_TURN.
 */
export async function forkBeforeTurn(
  workspace: Workspace,
  from: string,
  turn: number,
): Promise<{ session_id: string; input: string }> {
  const begun = (await readRecords(workspace, from)).find(
    (record) => record.kind === 'turn_start' && record.turn === turn,
  )
  if (begun?.kind !== 'turn_start')
    throw new AgentError('VT_REPLAY_TURN', `The session ${from} has no turn ${turn} that began with an input.`)
  const session_id = createIdMaker(clock, random)('ses')
  await fork(workspace, from, session_id, 'full_copy', { clock, table: threadTable, before_turn: turn })
  await noteSession(session_id, workspace)
  return { session_id, input: messageText(begun.input) }
}
