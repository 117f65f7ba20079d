export { parseGitHeader, parseGitPath } from './git_path.js'
export {
  canOverlap,
  compileHostPattern,
  isPartialMatch,
  matchSequence,
  compilePathPattern,
  compileWildcard,
} from './glob.js'
export { compilePathSpec, describeUnusedLines, findIgnoreLine, listIgnorePatterns } from './ignore_list.js'
export {
  GrowingText,
  registerSecret,
  registerEnvSecrets,
  isSecretName,
  redact,
  redactText,
  maskSameSize,
  findSafeEnd,
  redactUserInfo,
  redactValues,
} from './secrets.js'
export { findSimilar, findNearest, measureDistance } from './suggest.js'
export {
  block,
  escapeTemplates,
  truncateLine,
  toText,
  visible,
  visibleJson,
  visibleLine,
  toVisibleProgress,
  visibleText,
  removeInvisible,
} from './visible.js'
