export { keepCompiled, useCompiled } from './compiled.js'
export { leaveReport } from './crash.js'
export { guarded } from './guard.js'
export { CommandLineError, levels, readCommandLine, type CommandLine } from './flags.js'
