export { openCheckpoints, readCoverage } from './open_store.js'
export { CheckpointStore } from './store.js'
export type { RevertPlan } from './restore.js'
export type {
  CheckpointLimits,
  CheckpointSubject,
  CommandRecord,
  EntryState,
  OpenCheckpoint,
  StateChange,
  Uncovered,
} from './types.js'
