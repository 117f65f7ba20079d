import type { Workspace } from '../../../core/workspace/index.js'
import { conversationTable, messageText } from '../session/index.js'
import { readRecords } from './read_records.js'

/** A turn that a revert can return to: its number, its time (ISO 8601) and its prompt. */
export interface PastTurn {
  turn: number
  ts: string
  text: string
}

/**
 * Lists the turns that a person began in the present conversation, the first one first. Errors: VT_SESSION_NOT_FOUND,
 * VT_SESSION_CORRUPT, VT_SESSION_FOREIGN.
 */
export async function listPastTurns(workspace: Workspace, session_id: string): Promise<PastTurn[]> {
  let turns: PastTurn[] = []
  for (const record of await readRecords(workspace, session_id)) {
    if (record.kind === 'revert' && record.scope !== 'code') turns = turns.filter(({ turn }) => turn < record.to_turn)
    if (record.kind === 'turn_start' && record.input.origin !== 'harness')
      turns.push({ turn: record.turn, ts: record.ts, text: messageText(record.input) })
  }
  return turns
}

/**
 * Returns the texts of person and model, without calls and without texts of the harness. Errors: those of
 * `listPastTurns`.
 */
export async function readDialogue(
  workspace: Workspace,
  session_id: string,
): Promise<{ by: 'person' | 'model'; text: string }[]> {
  const { messages } = conversationTable.replay(await readRecords(workspace, session_id))
  return messages.flatMap(({ role, origin, ...message }) => {
    const text =
      role === 'tool' || origin === 'harness' || origin === 'instructions' ? '' : messageText({ role, ...message })
    return text.trim() === '' ? [] : [{ by: role === 'user' ? ('person' as const) : ('model' as const), text }]
  })
}
