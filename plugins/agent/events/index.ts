export { copyTo, persist } from './file.js'
export { Events } from './log.js'
export { briefly, countItem, notAppliedLines, progress, reasonOf, summary, type RunChanges } from './progress.js'
