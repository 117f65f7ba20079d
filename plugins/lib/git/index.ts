export { askGit } from './ask.js'
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
  readSmallFile,
  type GitFolder,
} from './folders.js'
export { disableFilters, isolatedGitEnv } from './hardened.js'
export { readIndexFacts } from './index_entries.js'
export { readInnerRepositories } from './inner.js'
export { isHarmlessSetting } from './quiet_settings.js'
export { runGit, type GitRun } from './run.js'
export { findRepository, readSettings, readSettingsFile, type GitSetting, type Repository } from './repository.js'
