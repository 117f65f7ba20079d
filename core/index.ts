/** The front door: what embedders and plugin authors use. */
export { VtError, codes, fail, failure, ok, problem } from './shapes/index.js'
export { encodeName, programFile, version } from './system/index.js'
export { block, redact, redactText, visible, visibleLine } from './text/index.js'
export type {
  Call,
  CallTool,
  ContentBlock,
  Contribution,
  ContributionInfo,
  ConversationServices,
  Diagnostic,
  Effect,
  Failure,
  Inference,
  Json,
  JsonObject,
  Kind,
  Launch,
  Layer,
  Manifest,
  ManifestEntry,
  Mode,
  Next,
  Notice,
  OpenConversation,
  CallPath,
  PluginFolder,
  PreparedCall,
  Problem,
  PromptArgument,
  Result,
  RightsScope,
  Schema,
  Settings,
  SlotInfo,
  Slots,
  Stage,
  State,
  Success,
  ToolInfo,
  Timeouts,
} from './shapes/index.js'
export { compileSchema, readContract } from './schema/index.js'
export { openWorkspace } from './workspace/index.js'
export type {
  EntryKind,
  EntryStat,
  Extent,
  Handle,
  Operation,
  ExpectedState,
  FileVersion,
  Workspace,
  WriteResult,
} from './workspace/index.js'
export { openTrust } from './trust/index.js'
export type { Trust } from './trust/index.js'
export { defineConfig, resolveHome, validateConfigFile } from './config/index.js'
export type { Config, Origin } from './config/index.js'
export { parseSkill } from './skills/index.js'
export type { PackageSkills, PackageText, Skill, Skills } from './skills/index.js'
export type { PackagePlace, PackageReader } from './manifests/index.js'
export { listConsentItems } from './generation/index.js'
export { createKernel } from './kernel/index.js'
export type {
  Adapter,
  Answer,
  Answerer,
  Approval,
  ApprovalAnswer,
  SkillActivation,
  CallOptions,
  Compactor,
  Complete,
  Context,
  Explanation,
  Handler,
  Host,
  Io,
  PolicyOutcome,
  Kernel,
  KernelInspection,
  KernelOptions,
  ApprovalMemory,
  DelegatedRights,
  LogLevel,
  Objection,
  Offer,
  Policy,
  AdapterContext,
  Progress,
  Provider,
  SandboxUse,
  Session,
  SurfaceMain,
  ToolsOptions,
  Verdict,
} from './contract/index.js'
export type { Answers, Asker, Client, ClientRequest, Question } from './shapes/index.js'
