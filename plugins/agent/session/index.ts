export { readApproval, listApprovals, type PendingApproval, removeApproval, writeApproval } from './approval_files.js'
export type {
  Conversation,
  ConversationApprovals,
  ConversationContext,
  ConversationHooks,
  HowCalled,
} from './conversation.js'
export { copyImages, listImages, keepImages, loadImages } from './images.js'
export {
  createDamageError,
  formatRecord,
  createMark,
  readJournal,
  readOwnJournal,
  resealRecords,
  type Journal,
} from './journal.js'
export { LEASE_VARIABLE, LeaseFence, readLeaseVariable, type LeaseState } from './lease.js'
export { isSessionLocked } from './lock.js'
export { parseManifest, type ForkMode, listSessions, createPartManifest, type SessionManifest } from './manifest.js'
export { ManifestWriter } from './manifest_writer.js'
export { createMemoryEnvelope, saveMemory, renderMemory } from './memory.js'
export { adoptQueue, Queue } from './queue.js'
export { redactMessage, redactWords } from './redaction.js'
export { readEventBytes, readSessionFile, createRecordPlace } from './session_log.js'
export {
  callEnd,
  listCalls,
  type ConversationState,
  conversationTable,
  lastText,
  messageText,
  resultPart,
  listUnansweredCalls,
} from './state.js'
export { listEarlierRecords, type StatePart, type StateTable } from './state_table.js'
export { createMemoryStore, openStore, createReadError, isValidSessionId } from './store.js'
export {
  toSummary,
  mergeSummaries,
  createPlainSummary,
  renderSummary,
  summaryPrompt,
  summarySchema,
  renderTranscript,
} from './summary.js'
export { type AgentTask, type GivenImage, createTaskMessage } from './task_message.js'
