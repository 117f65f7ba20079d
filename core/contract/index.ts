export type { ChangeJudge } from './change_judge.js'
export { createCallRights, type CallRights, narrowRights } from './call_rights.js'
export type { DelegatedRights, ScriptCall, ScriptJournal } from './inner_calls.js'
export type {
  Adapter,
  AdapterContext,
  Answer,
  Answerer,
  Approval,
  Compactor,
  Complete,
  Context,
  Handler,
  Host,
  PolicyOutcome,
  ApprovalMemory,
  LogLevel,
  Objection,
  Offer,
  Policy,
  Progress,
  Provider,
  SandboxUse,
  Session,
  SkillActivation,
  Verdict,
} from './plugin_types.js'
export type {
  ApprovalAnswer,
  CallOptions,
  Explanation,
  Io,
  Kernel,
  KernelInspection,
  KernelOptions,
  SurfaceMain,
  ToolsOptions,
} from './types.js'
export { onUncaughtError, type OnFault, watchUncaught } from './uncaught_errors.js'
