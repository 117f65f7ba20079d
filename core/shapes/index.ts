export {
  type Answers,
  type Asker,
  type Client,
  type ClientRequest,
  type Question,
  visibleAsker,
  visibleClient,
} from './asking.js'
export {
  CONVERSATION_ACTIONS,
  type ConversationServices,
  createConversation,
  type OpenConversation,
} from './conversation.js'
export { type Code, codes, firstLine, fromError, problem, report, texts, type Values, VtError } from './errors.js'
export { deepFreeze, jsonGrowth, jsonSize, recordedInput, toJson } from './json.js'
export type {
  Contribution,
  ContributionInfo,
  Inference,
  Kind,
  Layer,
  Manifest,
  PluginFolder,
  PromptArgument,
  Stage,
  State,
} from './manifest_types.js'
export { questionText, quotedReason } from './question.js'
export { fail, failure, notApplied, ok, plainAnswer, resultFault, strangersError, visibleResult } from './result.js'
export type { Config, Settings } from './settings_types.js'
export {
  type Call,
  type CallTool,
  type ContentBlock,
  definedOnly,
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
  type Place,
  type PreparedCall,
  type Problem,
  type Result,
  type RightsLeft,
  type Schema,
  type SlotInfo,
  type Slots,
  type Success,
  type ToolInfo,
  type Waits,
} from './types.js'
export { usualWaits } from './waits.js'
