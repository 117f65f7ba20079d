export { agentSettings, factTable, outcomeTable, type EventSink, type RevertScope } from '../base/index.js'
export { certificateOfSession } from './certificate.js'
export { checkModel } from './model_check.js'
export { preview } from './preview.js'
export { printComponents } from './providers.js'
export { printFailure } from './print_failure.js'
export { definedOnly, sessionOptions, withAgent, withResume, withSession, type SessionFlags } from './session_flags.js'
export { readTask } from './streams.js'
export { Voice } from './voice.js'
export { withFlags, work, type Flags } from './work.js'
export { chooseComponents, runContexts, type RunContext } from '../components/index.js'
export { notAppliedLines, progress, reasonOf, summary } from '../events/index.js'
export { differencesOf, hashesOf, proofOf, readCertificate, runner, type Certificate } from '../finish/index.js'
export { turnBounds } from '../loop/index.js'
export { findModel, listModels, signIn, signInOf, signOut } from '../model/index.js'
export {
  adoptSession, allSessions, approvalOf, approvalsIn, findSession, homeOfSession, lastSession, listSessions, noteSession, openStore, removeSession, repair, revert, tidy,
  writeApproval, type PendingApproval, type SessionManifest,
} from '../session/index.js'
