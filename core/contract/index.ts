export { callRights, type CallRights, narrow } from './call_rights.js'
export type {
  Adapter, AdapterContext, Answer, Answerer, Approval, Compactor, Complete, Context, Handler, Host, Judged, Lasting,
  LessRights, LogLevel, Objection, Offer, Policy, Progress, Provider, SandboxUse, Session, SkillActivation, Verdict,
} from './plugin_types.js'
export type {
  Approved, CallOptions, Explanation, Io, Kernel, KernelInspection, KernelOptions, SurfaceMain, ToolsOptions,
} from './types.js'
export { endBy, type OnFault, watchUncaught } from './uncaught.js'
