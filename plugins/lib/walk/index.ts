export { type Entries, type FoundEntry, type Reason } from './entries.js'
export { isVisible, listFiles, listUnsortedFiles, walkEntries, type Listing } from './enumerate.js'
export { ignoreMissing, listExcludedNames, listNaming, type WalkOptions } from './options.js'
