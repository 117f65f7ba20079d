export { scheduling, type ScheduledState } from './state.js'
export { SessionTasks } from './tasks.js'
export { readLoop, readReminder, roundedInterval, saidInterval } from './timing.js'
