export { approvalOf, approvalsIn, removeApproval, writeApproval, type PendingApproval } from './approval_files.js'
export type {
  Conversation,
  ConversationApprovals,
  ConversationContext,
  ConversationHooks,
  HowCalled,
} from './conversation.js'
export { fork, recordsOf } from './fork.js'
export { imagesIn, keepImages, loadImages } from './images.js'
export { isHeld } from './lock.js'
export { lineOf, readJournal } from './journal.js'
export { asManifest, listSessions, partManifest, type SessionManifest } from './manifest.js'
export { ManifestWriter } from './manifest_writer.js'
export { envelopeOf, saveMemory, shownMemory } from './memory.js'
export { Queue } from './queue.js'
export { abandonTurn, recoverCall, type CallResult } from './recover_calls.js'
export { adoptSession, closeUnfinished, repair, restore, type Restored } from './restore.js'
export { removeSession, tidy } from './retention.js'
export { eventBytes, fileOfSession, placeOfSession } from './session_log.js'
export { messageOfTask, type AgentTask, type GivenImage } from './task.js'
export { foldersThere, forgetSession } from './traces.js'
export { finished, finishRevert, revert, turnsOf, wordsOf } from './revert.js'
export { planRewind } from './rewind.js'
export { allSessions, findSession, homeOfSession, lastSession, noteSession } from './session_index.js'
export {
  callEnd,
  callsIn,
  conversationTable,
  lastText,
  messageText,
  resultPart,
  unanswered,
  type ConversationState,
} from './state.js'
export type { StatePart, StateTable } from './state_table.js'
export { memoryStore, openStore, validId } from './store.js'
export {
  asSummary,
  mergeSummaries,
  plainSummary,
  shownSummary,
  summaryPrompt,
  summarySchema,
  transcript,
} from './summary.js'
