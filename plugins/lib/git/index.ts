export { askGit } from './ask_git.js'
export { findConfiguredPrograms, findGitFolderPrograms, READ_HOOKS } from './configured_programs.js'
export { findOutsideReference, listLinks, findMisplacement } from './contents.js'
export { listEntries, type FolderEntry } from './entries.js'
export { bigStat, TICK_NS } from './file_state.js'
export {
  listInnerGitFolders,
  findGitFolderAbove,
  findGitFolder,
  isGitFolder,
  isThere,
  resolveGitFolder,
  type GitFolder,
} from './folders.js'
export { disableFilters, isolatedGitEnv } from './hardened_env.js'
export { readIndexFacts } from './index_facts.js'
export { readInnerRepositories } from './inner_repositories.js'
export { isHarmlessSetting } from './harmless_settings.js'
export { runGit, type GitRun } from './run_git.js'
export { findRepository, readSettings, readSettingsFile, type GitSetting, type Repository } from './repository.js'
