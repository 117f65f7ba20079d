export { hiddenBy } from './hidden.js'
export { lock } from './lock.js'
export type { EntryKind, EntryStat, Extent, Handle, Operation, Over, Version, Workspace, Written } from './types.js'
export { openWorkspace, type OpenWorkspace } from './workspace.js'
