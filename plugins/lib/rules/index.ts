export {
  coveringRule,
  commandFolder,
  findCommandWrites,
  hiddenFrom,
  judgeCommands,
  placesIn,
  readsOnly,
} from './commands.js'
export { factsOf, type CallFacts } from './facts.js'
export { looksWithGit } from './git.js'
export { hit, namesOfPlaces } from './hit.js'
export type { WordPlace } from './named.js'
export type { Rule, RuleSet } from './rule.js'
export { programsOfGitFolder } from './repository.js'
export { parseRule, rulesOfHome, rulesOfSettings, type RuleSettings } from './rules.js'
export { whatRuns } from './what_runs.js'
