export { captureOutput } from './capture_output.js'
export { drain } from './drain.js'
export { createJsonLineReader } from './json_lines.js'
export { listLeftProcesses, RUN_MARK } from './left_processes.js'
export { outputPipes, PipeMaker, type OutputPipes } from './pipes.js'
export { measureActivity, measureGroupMemory, countBytesRead, canWatchUsage } from './resource_limits.js'
export { createLineReader } from './lines.js'
export {
  runProgram,
  hasSettled,
  createTail,
  type Consumer,
  type ProgramEnd,
  type ProcessLimits,
  type Program,
} from './run.js'
export { resolveSandboxMode, toStrictSettings, isStrictRequested, type SandboxSettings } from './sandbox_settings.js'
export { runShort } from './short_program.js'
export { getStartedCommands, hasRunningCommand } from './started_commands.js'
