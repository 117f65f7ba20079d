export { copyConsentedFiles, toCopyPath } from './copy.js'
export {
  toCanonicalJson,
  computeDigest,
  toTrustItem,
  toConfigItem,
  toSkillItem,
  toValueItem,
  needsConsent,
  requireCovered,
  joinItems,
  type TrustItem,
} from './digest.js'
export { createCompiler, importPluginModule, retryWhileWritten } from './import_module.js'
export {
  openLockVerifier,
  readInstalled,
  writeInstalled,
  type Installed,
  type PluginSource,
  type LockVerifier,
} from './lockfile.js'
export { recordConsent, requireUnchanged } from './consent_check.js'
export { isGuardEvent, toMissingGuard, type Guard, type GuardExtent, type MissingGuard } from './guards.js'
export { findImports } from './imports.js'
export { addOwnPaths, findOwnPaths, type OwnPath } from './own_paths.js'
export { listFileWords } from './programs.js'
export { auditConsents, openTrust, type Trust } from './store.js'
export {
  hashContent,
  readIdentity,
  readTree,
  isUncovered,
  readTreeDigest,
  createTreeReader,
  resolveFileBelow,
  type Tree,
} from './tree.js'
export { findConsentWorkspace, readInode, WORKTREE_SEAL, WORKTREES_FOLDER } from './worktree.js'
