export { settingsOf, type RevertScope, type Sink } from '../base/index.js'
export { check } from './model_check.js'
export { preview } from './preview.js'
export { providersOf } from './providers.js'
export { refusal } from './refusal.js'
export { chosen, given, withAgent, withResume, withSession, type SessionFlags } from './session_flags.js'
export { readTask } from './streams.js'
export { withFlags, work, type Flags } from './work.js'
export { dictionary, places, type Place } from '../components/index.js'
export { progress, summary } from '../events/index.js'
export { findModel, listModels, signIn, signInOf, signOut } from '../model/index.js'
export {
  allSessions, approvalOf, approvalsIn, findSession, homeOfSession, lastSession, listSessions, openStore, removeSession, repair, revert, tidy,
  writeApproval, type PendingApproval, type SessionManifest,
} from '../session/index.js'
