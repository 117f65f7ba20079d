export { InFlight, isPromise, LazyAbort, outcomeWithin, Semaphore, whenKnown, withTimeout } from './async.js'
export { blocksOf, dataFolder, grantedBlocks, moduleOf, optionsOf, pluginVariables } from './contribution.js'
export { deadline, type Deadline } from './deadline.js'
export { errno, systemRefusal } from './errno.js'
export { type CompiledFile, freshlyCompiled, load, takeCompiled } from './load.js'
export { decodeName, encodeName, foldedNames, inside, normalizePath, segments, shownPath } from './path_text.js'
export {
  endWithUs,
  environment,
  findProgram,
  isProcessRunning,
  isProgram,
  leaderEnded,
  processStart,
  searchPath,
  signalGroup,
  start,
  watchGroup,
} from './process.js'
export { importOwn, programFile, requireLibrary, version } from './program_files.js'
export { byBytes, homeOf, realPathOf, type Seal, sealOf, sha256, userOf } from './seal.js'
export { keepNewest, makeFolder, writeState, writeStateSync } from './state_file.js'
