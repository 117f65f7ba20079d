export { canonical, digestOf, identityOf, itemFor, itemForConfig, itemForSkill, itemForValue, needsConsent, readTree, treeDigest, treesOnce, type Tree, type TrustItem } from './digest.js'
export { openSeals, readInstalled, writeInstalled, type Installed, type PluginSource, type Seals } from './lockfile.js'
export { openTrust, type Trust } from './store.js'
