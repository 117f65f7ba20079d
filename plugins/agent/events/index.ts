export type { Growth } from './deltas.js'
export { copyTo, eventLine, persist } from './file.js'
export { Events } from './log.js'
export {
  briefly,
  countItem,
  notAppliedLines,
  partLine,
  progress,
  reasonOf,
  summary,
  type RunChanges,
} from './progress.js'
export { atItsPace, RunReader } from './reader.js'
