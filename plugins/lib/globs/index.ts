export { choose, fileFilter, globFilter, type Chosen } from './filter.js'
export { glob, isGlob } from './glob.js'
export { Ignoring, ignoreRules, maxRules, ruleFiles } from './ignore_rules.js'
