export { askGit } from './ask.js'
export { leadsOut, linksIn, misplaced } from './contents.js'
export { entriesOf, type FolderEntry } from './entries.js'
export { bigStat, tick_ns } from './file_state.js'
export {
  foldersWithin,
  gitFolderAbove,
  gitFolderAt,
  isGitFolder,
  isThere,
  named,
  smallText,
  type GitFolder,
} from './folders.js'
export { filtersOff, gitAlone } from './hardened.js'
export { indexFacts } from './index_entries.js'
export { innerRepositories } from './inner.js'
export { startsNothing } from './quiet_settings.js'
export { runGit, type GitRun } from './run.js'
export { repositoryAt, settingsAt, settingsInFile, type GitSetting, type Repository } from './repository.js'
