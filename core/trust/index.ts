export { canonicalJson, digestOf, identityOf, itemFor, itemForConfig, itemForSkill, itemForValue, needsConsent, readTree, treeDigest, treesOnce, type Tree, type TrustItem } from './digest.js'
export { openLockVerifier, readInstalled, writeInstalled, type Installed, type PluginSource, type LockVerifier } from './lockfile.js'
export { openTrust, type Trust } from './store.js'
