export { findTreeChanges, type TreeChange } from './changes.js'
export { createWorktree, requireRepository } from './create.js'
export { mergeWorktree, type MergedFile } from './merge.js'
export { dropWorktree, dropSessionWorktrees, findWorktree, type Worktree } from './worktree.js'
