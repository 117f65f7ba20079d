export { fork } from './fork.js'
export { listPastTurns, readDialogue } from './past_turns.js'
export { readRecords, readSealedJournal } from './read_records.js'
export { abandonTurn, type CallResult, recoverCall } from './recover_calls.js'
export { adoptSession, closeUnfinished, repair, restore, type Restored } from './restore.js'
export { removeSession, tidy } from './retention.js'
export { createRevertNote, finishRevert, revert } from './revert.js'
export { planRewind } from './rewind.js'
export {
  listAllOwnSessions,
  listAllSessions,
  requireOwnSession,
  findSessionWorkspace,
  findLastSession,
  noteSession,
} from './session_index.js'
export { listSessionFolders, forgetSession } from './traces.js'
