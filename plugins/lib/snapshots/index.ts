export { changesSince, FileSnapshots, type WatchedChange } from './file_snapshots.js'
