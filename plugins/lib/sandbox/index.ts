export { confineLaunch, confineCommand, type SandboxEnd } from './launch.js'
export { examineSandbox, findSandbox, type SandboxTestResult } from './probe.js'
export { findObstacle, prepareConfinement, type Confinement } from './profile.js'
export { listProgramPaths, findImportRoot } from './program_paths.js'
