export { findChanges, FileSnapshots, type WatchedChange } from './file_snapshots.js'
