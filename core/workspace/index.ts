export { bringInFront } from './first_of.js'
export { hiddenBy, secretReason, secretsWithin, secretWay } from './hidden.js'
export { lock } from './lock.js'
export { ownFolders } from './places.js'
export type {
  EntryKind,
  EntryStat,
  Extent,
  FileOpener,
  Handle,
  Operation,
  Over,
  Version,
  Workspace,
  Written,
} from './types.js'
export { openWorkspace, type OpenWorkspace } from './workspace.js'
