export { agentSettings, factTable, outcomeTable, type EventSink, type RevertScope } from '../base/index.js'
export { certificateOfSession } from './certificate.js'
export { givenImages, withImages, type ImageFlags } from './images.js'
export { signIn, signOut } from '../auth/index.js'
export { aboutModel } from './choose_model.js'
export { checkModel } from './model_check.js'
export { preview } from './preview.js'
export { printComponents } from './providers.js'
export { printFailure } from './print_failure.js'
export { sessionOptions, withAgent, withResume, withSession, workThenAsk, type SessionFlags } from './session_flags.js'
export {
  printPieces,
  recordsInFile,
  recordsOfSession,
  refuseFlagged,
  sessionExists,
  sessionMeant,
  tellFaults,
  writePieces,
} from './session_records.js'
export { collectorOf, sendSpans } from './send_spans.js'
export { readTask } from './streams.js'
export { atWork, childrenText, goalText, tasksText } from './tasks.js'
export { Voice } from './voice.js'
export { withFlags, work, type Flags } from './work.js'
export { chooseComponents, componentChoices, runContextOf, runContexts, type RunContext } from '../components/index.js'
export { briefly, eventLine, notAppliedLines, partLine, progress, reasonOf, summary } from '../events/index.js'
export {
  listDifferences,
  hashFiles,
  createProof,
  readCertificate,
  RUNNER_SLOT,
  type Certificate,
} from '../task/index.js'
export {
  agentItems,
  findAgents,
  namedAgent,
  childRights,
  type AgentDefinition,
  type AgentFault,
} from '../delegation/index.js'
export { turnBounds } from '../loop/index.js'
export { saidWhen } from '../schedule/index.js'
export { listModels, offeredModels, signInOf } from '../model/index.js'
export { findModel, modelChoices, uncountedModels, providerVariables, providerShown } from '../providers/index.js'
export { atifOf, openResponsesOf, otelOf, outlineOf, tracePage, reduceLog, type Run } from '../records/index.js'
export {
  adoptSession,
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
