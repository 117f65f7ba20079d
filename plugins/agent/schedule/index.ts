export { scheduling, type ScheduledState } from './state.js'
export { SessionTasks, withoutSchedule } from './tasks.js'
export { readLoop, readReminder, roundedInterval, saidInterval, saidWhen } from './timing.js'
