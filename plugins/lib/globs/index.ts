export { choose, globFilter, type Chosen } from './filter.js'
export { glob, globFault, isGlob } from './glob.js'
export { Ignoring, ignoreRules, maxRules, ruleFiles } from './ignore_rules.js'
