export { consentItems } from './consent.js'
export type { Generation } from './generation.js'
export { inspect, type Inspection } from './inspect.js'
export { createKernel } from './kernel.js'
export { importForeign } from './loader.js'
export type {
  Adapter, Answer, Answerer, Answers, Approval, Approved, Asker, SkillActivation, CallOptions, Client, ClientRequest, Compactor, Complete, Context, Explanation,
  Handler, Host, Io, Judged, Kernel, KernelOptions, Lasting, LogLevel, Offer, Policy, AdapterContext, Progress, Provider, Question, Session, SurfaceMain,
  Verdict,
} from './types.js'
export { endBy } from './uncaught.js'
