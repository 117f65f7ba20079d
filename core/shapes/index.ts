export { requireKnownOptions } from './known_options.js'
export {
  type Answers,
  type Asker,
  type Client,
  type ClientRequest,
  type Question,
  createVisibleAsker,
  createVisibleClient,
} from './asking.js'
export {
  CONVERSATION_ACTIONS,
  type ConversationServices,
  createConversation,
  type OpenConversation,
} from './conversation.js'
export {
  type Code,
  codes,
  firstLine,
  toDiagnostic,
  problem,
  createDiagnostic,
  renderTexts,
  type Values,
  VtError,
} from './errors.js'
export { deepFreeze, estimateJsonGrowth, estimateJsonSize, toRecordedInput, toJson } from './json.js'
export type {
  Contribution,
  ContributionInfo,
  Inference,
  Kind,
  LanguageServerData,
  Layer,
  Manifest,
  PluginFolder,
  PromptArgument,
  Stage,
  State,
} from './manifest_types.js'
export { renderQuestion, formatReason } from './question.js'
export {
  fail,
  failure,
  markNotApplied,
  ok,
  copyAnswer,
  findResultFault,
  toPluginProblem,
  toVisibleResult,
} from './result.js'
export type { Config, Settings } from './settings_types.js'
export {
  type Call,
  type CallTool,
  type ContentBlock,
  omitUndefined,
  type Diagnostic,
  type Effect,
  type Failure,
  isObject,
  type Json,
  type JsonObject,
  type Launch,
  type ManifestEntry,
  type Mode,
  type Next,
  type Notice,
  type CallPath,
  type PreparedCall,
  type Problem,
  type Result,
  type RightsScope,
  type Schema,
  type SlotInfo,
  type Slots,
  type Success,
  type ToolInfo,
  type Timeouts,
} from './types.js'
export { DEFAULT_TIMEOUTS } from './timeouts.js'
