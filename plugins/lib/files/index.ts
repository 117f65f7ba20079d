export {
  createBinaryError,
  encodeAddition,
  encodeReplacement,
  findLineEnds,
  refuseBinary,
  refuseHalfCharacter,
  refuseOtherEncoding,
} from './file_form.js'
export { Changes, countLines, findLineNumber, createLineCounter } from './changes.js'
export {
  type StaleFile,
  createStaleError,
  findStaleFile,
  listStaleNotices,
  refuseStale,
  reportStaleFile,
} from './stale_file.js'
export { clipDiff, diffChanges, diffTexts, countChangedLines, MAX_COMPARED_BYTES } from './diff.js'
export { findEntry, resolveEntry, requireFreeName, requireEntry } from './entry.js'
export {
  dropForeign,
  historyFolder,
  toHistoryFolder,
  findMissingParents,
  MAX_KEPT,
  readKept,
  recordChange,
  type Step,
} from './history.js'
export { createListCall, createMissingPathError } from './missing_path.js'
export { findNearMatches } from './near_matches.js'
export { type Reads, getReads, isSameVersion } from './reads.js'
export { replaceFile } from './replace_file.js'
export { DIFF_LIMITS, type FileTarget, loadTarget, lossNotices } from './target.js'
export { createLinesCall, createReadCall } from './read_call.js'
export {
  explainError,
  findLatestChange,
  refuseForeign,
  undo,
  listUndoable,
  type Undoable,
  readVersion,
} from './undo.js'
export { readTarEntries, type TarEntry } from './tar_entries.js'
