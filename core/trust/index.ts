export { copyOf, inCopy } from './copy.js'
export {
  canonicalJson,
  digestOf,
  itemFor,
  itemForConfig,
  itemForSkill,
  itemForValue,
  needsConsent,
  requireCovered,
  withSentences,
  type TrustItem,
} from './digest.js'
export { compilerFor, importForeign, onceWhole } from './foreign.js'
export {
  openLockVerifier,
  readInstalled,
  writeInstalled,
  type Installed,
  type PluginSource,
  type LockVerifier,
} from './lockfile.js'
export { keepStanding, requireStanding } from './standing.js'
export { noteConsents, openTrust, type Trust } from './store.js'
export { fileHash, identityOf, readTree, treeDigest, treesOnce, type Tree } from './tree.js'
export { consentPlace, inodeOf, worktreeSeal, worktreesFolder } from './worktree.js'
