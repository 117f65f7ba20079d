export { hasPositiveGlob, createGlobFilter, type FileSelection } from './filter.js'
export { compileGlob, findGlobFault, isGlob } from './glob.js'
export { IgnoreRules, parseIgnoreRules, MAX_RULE_BYTES, ruleFiles } from './ignore_rules.js'
