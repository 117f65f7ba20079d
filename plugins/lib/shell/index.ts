export { readGitConfig } from './git_starts.js'
export { readCommand } from './read_command.js'
export { findFolders, findTargets, hasTargets, isOpenTarget } from './targets.js'
export { baseName, programName, withText, type Argv, type ParsedCommand, type Word } from './words.js'
