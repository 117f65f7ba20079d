export {
  findCoveringRule,
  readWorkdir,
  findCommandWrites,
  findHiddenReason,
  judgeCommands,
  listWorkingFolders,
  isReadOnly,
} from './commands.js'
export { collectFacts, type CallFacts } from './facts.js'
export { isGitInspection } from './git.js'
export { findRule, listPlaceNames } from './find_rule.js'
export type { WorkingFolder } from './word_paths.js'
export type { Rule, RuleSet } from './rule.js'
export { findGitFolderPrograms } from './repository.js'
export { parseRule, createHomeRules, compileRules, type RuleSettings } from './rules.js'
export { listEffectiveInput } from './effective_input.js'
