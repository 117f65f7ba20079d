export { saveCompiled, useCompiled } from './compiled.js'
export { writeCrashReport } from './crash.js'
export { guardStream } from './guard_stream.js'
export { CommandLineError, LOG_LEVELS, readCommandLine, type CommandLine } from './flags.js'
