export { mapConcurrently } from './ahead.js'
export { valueLimit, valueText, truncateValue } from './value_text.js'
export { cutAtCodePoint, decodeBytes, encode, HEAD_BYTES, detectTextForm, type TextForm } from './encoding.js'
export { countCodePoints, cut, excerpt } from './excerpt.js'
export { waitForDrain } from './drained.js'
export { foldTypography } from './fold.js'
export { contentHash, shortenHash } from './hash.js'
export { nextCall } from './next.js'
export {
  pluralize,
  takeFitting,
  MAX_OUTPUT_BYTES,
  notice,
  createSlotError,
  listSearchNotices,
  some,
} from './notices.js'
export { comparePaths, takeFirstByPath, sortByPath } from './order.js'
export { createPauser } from './pauses.js'
export { toBaseName, toParentPath } from './path_parts.js'
export { nextLine, noticeLines, successText } from './result_text.js'
export { formatTypedValue } from './spoken.js'
export { readSystemFile } from './system_text.js'
export { createTempFolder } from './temp_folder.js'
export { isOwnServer } from './this_program.js'
export { raceAbort } from './unless_aborted.js'
export { WorkerError, createWorker } from './worker.js'
export { doJobs } from './worker_jobs.js'
export { trimEndChars } from './without_end.js'
