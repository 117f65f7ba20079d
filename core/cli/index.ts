export { leaveReport } from './crash.js'
export { CommandLineError, levels, readCommandLine } from './flags.js'
