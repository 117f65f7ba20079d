export { alarm, clock, random, seeded, uuidOf, type Alarm } from './clock.js'
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
export { callIdentity, traitsOfCall, isQuiet, meaningOf, meaningsIn, subjectOf, type Meaning } from './effects.js'
export { AgentError, hintOf, messageOf } from './errors.js'
export {
  factTable,
  waitsForDisk,
  type ArtifactName,
  type AskedTask,
  type Fact,
  type FactOf,
  type JournalRecord,
  type SessionSchedule,
  type SessionTask,
  type Told,
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
export { idMaker } from './ids.js'
export { readLimited } from './limited.js'
export { LoopDetector } from './loop_detector.js'
export { outcomeOfFailure, outcomeTable } from './outcome.js'
export { describeFault, earlierResult, textOfResult } from './result_text.js'
export { agentSettings, type AgentSettings, type RunLimits } from './settings.js'
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
  TokenBreakdown,
  TurnCounts,
  Usage,
} from './types.js'
