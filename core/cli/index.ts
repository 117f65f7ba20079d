export { leaveReport } from './crash.js'
export { UsageError, levels, readCommandLine } from './flags.js'
