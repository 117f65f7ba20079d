export { describeIntent, formatDiffCounts, type Intent } from './describe_intent.js'
export { formatAction } from './format_action.js'
export {
  buildIntendedDiff,
  planChange,
  planFileChanges,
  readWorkspaceText,
  type IntendedChange,
  type PlannedFile,
} from './intended_change.js'
