export { mapConcurrently } from './map_concurrently.js'
export { formatValue, valueText, truncateLikeText, truncateValue } from './value_text.js'
export { fitPage, type ShownCall } from './value_pages.js'
export {
  cutAtCodePoint,
  decodeBytes,
  encode,
  HEAD_BYTES,
  detectTextForm,
  isAsciiCompatible,
  isCharacterStart,
  isOtherEncoding,
  toUtf8,
  type TextForm,
} from './encoding.js'
export { countCodePoints, cut, excerpt } from './excerpt.js'
export { waitForDrain } from './wait_for_drain.js'
export { foldTypography } from './fold_typography.js'
export { html, Html } from './html.js'
export { contentHash, shortenHash } from './hash.js'
export { readMonotonicClock } from './monotonic_clock.js'
export { nextCall } from './next_call.js'
export {
  pluralize,
  takeFitting,
  MAX_OUTPUT_BYTES,
  notice,
  createSlotError,
  listSearchNotices,
  formatNames,
} from './notices.js'
export { comparePaths, takeFirstByPath, sortByPath } from './path_order.js'
export { createPauser } from './pauser.js'
export { toBaseName, toParentPath } from './path_parts.js'
export { detailLines, noticeLines, successText } from './result_text.js'
export {
  findShown,
  hasEscape,
  listInvisible,
  matchShownLine,
  restoreCharacters,
  toByteCharacters,
  type ShownEscape,
  type ShownPlace,
} from './shown_text.js'
export { formatTypedValue } from './typed_value.js'
export { readSystemFile } from './system_file.js'
export { createTempFolder } from './temp_folder.js'
export { isOwnServer } from './own_server.js'
export { raceAbort } from './race_abort.js'
export { WorkerError, createWorker } from './worker.js'
export { doJobs } from './worker_jobs.js'
export { renderComment, renderNote, renderType, toPascalCase } from './type_text.js'
export { trimEndChars } from './trim_end_chars.js'
export { describePlugin, type PluginRow } from './plugin_row.js'
