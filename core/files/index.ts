export { openRoot, statDirectory, syncDirectory, type Directory } from './directory.js'
export { openLocation, toStat } from './handle.js'
export { moveInto, refuseTaken, tryLink, syncOrUndo } from './move.js'
export { quickselect } from './quickselect.js'
export {
  ignoreErrors,
  dropTemps,
  removeOwnRecord,
  isTempName,
  recordTemps,
  sweepTemps,
  createTempName,
  type TempName,
} from './temp_files.js'
export { scanTree } from './scan.js'
export { copyTree, measure } from './tree.js'
export type { EntryKind, EntryStat, Extent, Handle, ExpectedState, FileVersion, WriteResult } from './types.js'
export { createMovedPathError, walk, type ExpectedPlace, type Location } from './walk.js'
export { writeFile } from './write_file.js'
