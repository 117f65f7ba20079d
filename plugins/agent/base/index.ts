export { alarm, clock, deadline, random, seeded, uuidOf } from './clock.js'
export type { AgentProviders, Cause, Clock, Component, Given, Log, Nature, Random, Sink, Store, Told } from './components.js'
export { effectsOf, isQuiet } from './effects.js'
export { AgentError, hintOf, messageOf } from './errors.js'
export { idMaker } from './ids.js'
export { Cycles, identityOf } from './loop_detector.js'
export { verdictOf } from './outcome.js'
export { describeFault, earlierResult, textOfResult } from './result_text.js'
export { settingsOf, type AgentSettings, type Limits } from './settings.js'
export type {
  CallOutcome, CallPart, CompactTrigger, EventBody, Fact, FileChange, FinishReason, GroundedFact, HarnessEvent, Item, ItemStatus, JournalRecord, Msg,
  NewItem, Origin, Outcome, OutcomeCode, Part, ReasoningPart, ResultPart, RevertScope, SegmentReason, Subtype, Summary, TextPart, ThreadEvent,
  TokenBreakdown, TurnLimits, Usage,
} from './types.js'
