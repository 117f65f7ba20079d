export { createScheduleError } from './errors.js'
export { DueHeap } from './heap.js'
export { launchRun, readOutcome, type RunEnvironment } from './launch.js'
export { RunLedger, type RunEnd, type RunRecord } from './ledger.js'
export { Scheduler } from './scheduler.js'
export { serveSchedules } from './serve.js'
export { isServiceText, createLaunchAgent, createSystemdUnit } from './service.js'
export { TaskStore } from './store.js'
export {
  parseCron,
  parseInterval,
  computeJitter,
  findNextBase,
  parseOnce,
  parseDuration,
  resolveTimeZone,
} from './timing.js'
export { CATCH_UPS, OVERLAPS, type ScheduledAction, type ScheduledTask, type TaskState, type Timing } from './types.js'
