export { InFlight, isPromise, LazyAbort, runWithTimeout, Semaphore, passValue, withTimeout } from './async.js'
export {
  pickSettings,
  resolveDataFolder,
  listGrantedBlocks,
  findModulePath,
  resolveOptions,
  createPluginVariables,
} from './contribution.js'
export { startDeadline, type Deadline } from './deadline.js'
export { errno, toPathError } from './errno.js'
export { type CompiledFile, collectCompiled, load, useCompiledFiles } from './load.js'
export { decodeName, encodeName, foldNames, isInside, normalizePath, splitPath, escapePath } from './path_text.js'
export {
  endWithParent,
  createChildEnvironment,
  findProgram,
  isProcessRunning,
  isProgram,
  noteLeaderExit,
  readProcessStart,
  listSearchFolders,
  signalGroup,
  spawnProgram,
  watchGroup,
} from './process.js'
export { importProgramModule, programFile, requireLibrary, version } from './program_files.js'
export { compareBytes, resolveHome, toRealPath, type Seal, openSeal, sha256, resolveUserFolder } from './seal.js'
export { keepNewest, makeFolder, writeState, writeStateSync } from './state_file.js'
