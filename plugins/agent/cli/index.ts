export {
  resolveAgentSettings,
  factTable,
  outcomeTable,
  toModelText,
  type EventSink,
  type JournalRecord,
  type FactOf,
  type RevertScope,
} from '../base/index.js'
export { addAllowRule, findRules } from './approval_rules.js'
export { createSessionCertificate } from './certificate.js'
export { readImages, addImageOption, type ImageFlags } from './images.js'
export { signIn, signOut } from '../auth/index.js'
export { describeModel, pickModel } from './choose_model.js'
export { checkModel } from './model_check.js'
export { preview } from './preview.js'
export { printComponents } from './print_components.js'
export { printFailure } from './print_failure.js'
export { connectAccount, disconnectAccount } from './provider_account.js'
export {
  toAgentOptions,
  withAgent,
  addResumeOptions,
  addSessionOptions,
  workAndAsk,
  type SessionFlags,
} from './session_flags.js'
export {
  printPieces,
  openRecordFile,
  openSessionRecords,
  refuseFlagged,
  requireSession,
  resolveSessionId,
  reportFaults,
  writePieces,
} from './session_records.js'
export { resolveCollector, sendSpans } from './send_spans.js'
export { forkBeforeTurn } from './fork_before_turn.js'
export { readTask } from './streams.js'
export { startRunWorker } from './local_worker.js'
export { addRemoteOptions, attachRun, loadRemote, runRemotely, withQueue, type RemoteFlags } from './remote.js'
export { formatActiveAgents, formatChildren, formatGoal, formatTasks, parseGoal } from './tasks.js'
export { AnswerPrinter } from './answer_printer.js'
export { addWorkOptions, printNotApplied, work, type WorkFlags } from './work.js'
export {
  chooseComponents,
  resolveChoices,
  resolveRunContext,
  runContexts,
  type RunContext,
} from '../components/index.js'
export {
  describeInput,
  formatEventLine,
  formatNotApplied,
  formatPartLine,
  createProgressSink,
  describeReason,
  formatSummary,
} from '../events/index.js'
export {
  listDifferences,
  hashFiles,
  createProof,
  readCertificate,
  RUNNER_SLOT,
  type Certificate,
} from '../task/index.js'
export {
  listTrustItems,
  findAgents,
  requireAgent,
  computeChildRights,
  type AgentDefinition,
  type AgentFault,
} from '../delegation/index.js'
export { turnBounds } from '../loop/index.js'
export {
  formatJunit,
  formatReplay,
  cutToDifference,
  openRecording,
  openRecordingFile,
  Replayer,
  toFailedReplay,
  toReplayCase,
  toReplayRow,
  type JunitCase,
  type RecordedPart,
  type Recording,
  type SessionReplay,
} from '../replay/index.js'
export { formatTiming } from '../schedule/index.js'
export { listModels, suggestModels, createSignIn } from '../model/index.js'
export {
  findModel,
  listModelChoices,
  listIgnoredModels,
  listProviderVariables,
  describeProvider,
} from '../providers/index.js'
export {
  exportAtif,
  exportOpenResponses,
  exportOtel,
  formatOutline,
  renderPage,
  reduceLog,
  type Run,
} from '../records/index.js'
export {
  adoptSession,
  listAllOwnSessions,
  listAllSessions,
  requireOwnSession,
  findSessionWorkspace,
  findLastSession,
  noteSession,
  removeSession,
  repair,
  revert,
  tidy,
  listPastTurns,
  readDialogue,
} from '../history/index.js'
export {
  readApproval,
  listApprovals,
  listSessions,
  openStore,
  writeApproval,
  type PendingApproval,
  type SessionManifest,
} from '../session/index.js'
