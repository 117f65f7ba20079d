export type { Answers, Asker, Client, ClientRequest, Question } from '../shapes/index.js'
export { consentItems } from './consent.js'
export { createKernel } from './kernel.js'
export type {
  Adapter, Answer, Answerer, Approval, SkillActivation, Compactor, Complete, Context, Handler, Host, Judged,
  Lasting, LessRights, LogLevel, Objection, Offer, Policy, AdapterContext, Progress, Provider, SandboxUse, Session, Verdict,
} from './plugin_types.js'
export type { Approved, CallOptions, Explanation, Io, Kernel, KernelInspection, KernelOptions, SurfaceMain, ToolsOptions } from './types.js'
export { endBy } from './uncaught.js'
