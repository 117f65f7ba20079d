export { type Certificate, certificateOf, differencesOf, readCertificate } from './certificate.js'
export { endingOf } from './ending.js'
export { finishing, type FinishState, holding } from './state.js'
export { archive, artifactFiles, taskFile, taskFolder } from './task_folder.js'
export { TaskView } from './task_view.js'
export {
  addItem,
  createTracker,
  type GivenItem,
  type GivenTracker,
  isOpen,
  itemLines,
  type ItemUpdate,
  trackerSummary,
  updateTracker,
} from './tracker.js'
export { TrackerFile } from './tracker_file.js'
export { parseTracker, trackerText } from './tracker_text.js'
export {
  changedFiles,
  checkCommands,
  commandsOf,
  hashesOf,
  proofOf,
  runner,
  runProofs,
  type Verified,
} from './verification.js'
