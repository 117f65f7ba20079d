export { approvalOf, approvalsIn, type PendingApproval, removeApproval, writeApproval } from './approval_files.js'
export type {
  Conversation,
  ConversationApprovals,
  ConversationContext,
  ConversationHooks,
  HowCalled,
} from './conversation.js'
export { copyImages, imagesIn, keepImages, loadImages } from './images.js'
export { damagedLine, lineOf, markOf, readJournal, readOwnJournal, resealed } from './journal.js'
export { isHeld } from './lock.js'
export { asManifest, type ForkMode, listSessions, partManifest, type SessionManifest } from './manifest.js'
export { ManifestWriter } from './manifest_writer.js'
export { envelopeOf, saveMemory, shownMemory } from './memory.js'
export { adoptQueue, Queue } from './queue.js'
export { eventBytes, fileOfSession, placeOfSession } from './session_log.js'
export {
  callEnd,
  callsIn,
  type ConversationState,
  conversationTable,
  lastText,
  messageText,
  resultPart,
  unanswered,
} from './state.js'
export { before, type StatePart, type StateTable } from './state_table.js'
export { memoryStore, openStore, unreadable, validId } from './store.js'
export {
  asSummary,
  mergeSummaries,
  plainSummary,
  shownSummary,
  summaryPrompt,
  summarySchema,
  transcript,
} from './summary.js'
export { type AgentTask, type GivenImage, messageOfTask } from './task.js'
