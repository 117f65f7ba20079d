export { count, type Done } from './change_count.js'
export { copyTo, persist } from './file.js'
export { Events } from './log.js'
export { briefly, progress, summary } from './progress.js'
