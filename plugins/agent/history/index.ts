export { fork, readRecords } from './fork.js'
export { abandonTurn, type CallResult, recoverCall } from './recover_calls.js'
export { adoptSession, closeUnfinished, repair, restore, type Restored } from './restore.js'
export { removeSession, tidy } from './retention.js'
export { createRevertNote, finishRevert, revert, listPastTurns, readDialogue } from './revert.js'
export { planRewind } from './rewind.js'
export {
  listAllSessions,
  requireOwnSession,
  findSessionWorkspace,
  findLastSession,
  noteSession,
} from './session_index.js'
export { listSessionFolders, forgetSession } from './traces.js'
