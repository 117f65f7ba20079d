export { allowedHere } from './adopted.js'
export { difference, ownText, requireWithin, writeDraft, type FileDraft } from './draft.js'
export { settingsDraft, settingsFile } from './settings.js'
