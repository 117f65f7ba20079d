export { scheduling, type ScheduledState } from './state.js'
export { SessionTasks, excludeScheduleTool } from './tasks.js'
export { parseLoop, parseReminder, roundInterval, formatInterval, formatTiming } from './timing.js'
