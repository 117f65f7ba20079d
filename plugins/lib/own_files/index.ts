export { openAllowList } from './allow_list.js'
export { formatDifference, readOwnFile, requireInside, writeDraft, type FileDraft } from './draft.js'
export { createReversal, revertText, type Reversal } from './reversal.js'
export { draftSettings, findSettingsFile } from './settings.js'
