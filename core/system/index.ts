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
export { addForeignRoot, cleanSearchPath, isForeign, listSearchFolders } from './foreign_roots.js'
export { type CompiledFile, collectCompiled, load, useCompiledFiles } from './load.js'
export { decodeName, encodeName, foldNames, isInside, normalizePath, splitPath, escapePath } from './path_text.js'
export {
  endWithParent,
  createChildEnvironment,
  findProgram,
  isProgram,
  noteLeaderExit,
  readProcessStart,
  signalGroup,
  spawnProgram,
  watchGroup,
} from './process.js'
export { importProgramModule, programFile, requireLibrary, version } from './program_files.js'
export {
  compareBytes,
  isProcessRunning,
  resolveHome,
  toRealPath,
  type Seal,
  openSeal,
  sha256,
  resolveUserFolder,
} from './seal.js'
export { readSmallFile } from './small_file.js'
export { keepNewest, makeFolder, writeState, writeStateSync } from './state_file.js'
