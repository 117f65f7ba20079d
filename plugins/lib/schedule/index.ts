export { scheduleProblem } from './errors.js'
export { TaskStore, type TaskFault } from './store.js'
export { cronTiming, intervalTiming, jitterOf, nextBase, onceTiming, secondsOf, zoneOf } from './timing.js'
export { catchUps, overlaps, type RunStatus, type ScheduledAction, type ScheduledTask, type TaskState, type Timing } from './types.js'
