export { startAlarm, clock, random, createSeededRandom, createUuid, type Alarm } from './clock.js'
export type {
  AgentProviders,
  Approve,
  CallTraits,
  Cause,
  Clock,
  Component,
  Delta,
  DeltaSink,
  EventSink,
  GivenComponents,
  Log,
  ModelText,
  Random,
  Store,
} from './components.js'
export type { ChildReport, ChildStatus, GroundedFact } from './delegation_types.js'
export {
  toCallIdentity,
  describeTraits,
  isQuiet,
  resolveCall,
  resolveCalls,
  describeSubject,
  type CallMeaning,
} from './effects.js'
export { AgentError, findHint, toErrorMessage } from './errors.js'
export {
  factTable,
  shouldAwaitDisk,
  type ArtifactName,
  type TaskRequest,
  type Fact,
  type FactOf,
  type JournalRecord,
  type SessionSchedule,
  type SessionTask,
  type ReminderKind,
  type RequestDigest,
} from './facts.js'
export type {
  FileHash,
  GoalProgress,
  ProofRun,
  TaskMemory,
  TaskStatus,
  Tracker,
  TrackerItem,
  Verification,
  VerificationResult,
} from './finish_types.js'
export { createIdMaker } from './ids.js'
export { readLimited } from './read_limited.js'
export { LoopDetector } from './loop_detector.js'
export { toOutcomeCode, outcomeTable } from './outcome.js'
export { describeFault, findEarlierResult, toModelText } from './result_text.js'
export { resolveAgentSettings, type AgentSettings, type RunLimits } from './settings.js'
export type {
  CallOutcome,
  CallPart,
  CompactTrigger,
  EventBody,
  FileChange,
  FinishReason,
  HarnessEvent,
  ImagePart,
  ImageRef,
  ItemStatus,
  MessageOrigin,
  MessagePart,
  Msg,
  NewThreadItem,
  NotApplied,
  OutcomeCode,
  ReasoningPart,
  RefusedChange,
  ResetTrigger,
  ResultPart,
  RevertScope,
  RunOutcome,
  SegmentReason,
  Subtype,
  Summary,
  TextPart,
  ThreadEvent,
  ThreadItem,
  PrefixReport,
  TokenBreakdown,
  TurnCounts,
  Usage,
} from './types.js'
