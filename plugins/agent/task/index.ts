export { type Certificate, createCertificate, listDifferences, readCertificate } from './certificate.js'
export { describeEnding } from './ending.js'
export { finishPart, type FinishState, findValidProof } from './state.js'
export { archiveFile, artifactFiles, findTaskFile, taskFolder } from './task_folder.js'
export { TaskView } from './task_view.js'
export {
  addItem,
  createTracker,
  type GivenItem,
  type GivenTracker,
  isOpen,
  formatItems,
  type ItemUpdate,
  summarizeTracker,
  updateTracker,
} from './tracker.js'
export { TrackerFile } from './tracker_file.js'
export { parseTracker, formatTracker } from './tracker_text.js'
export {
  listChangedFiles,
  checkCommands,
  listCommands,
  hashFiles,
  createProof,
  RUNNER_SLOT,
  runProofs,
  type Verified,
} from './verification.js'
