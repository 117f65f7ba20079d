export { treeChanges, type TreeChange } from './changes.js'
export { makeWorktree, repositoryFor } from './make.js'
export { mergeWorktree, type MergedFile } from './merge.js'
export { dropWorktree, dropWorktreesOf, worktreeAt, type Worktree } from './place.js'
