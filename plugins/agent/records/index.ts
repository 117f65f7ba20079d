export { atifOf, type RecordFiles } from './atif.js'
export { eventsOfAtif, isAtif } from './atif_input.js'
export { deriveRecords } from './derived.js'
export { readEvents, type LogFaults } from '../runs/index.js'
export { openResponsesOf } from './open_responses.js'
export { otelOf } from './otel.js'
export { firstDifference } from './compare.js'
export { moneyText, outlineOf, spanText } from './outline.js'
export { tracePage, type PageOptions } from './page.js'
export type { PageLimits } from './page_parts.js'
export { isDenied, isFailed, reduce, reduceLog, RunReducer, type LoggedEvent } from '../runs/index.js'
export type {
  BoundaryEntry,
  ChildEntry,
  MessageEntry,
  NoteEntry,
  OwnCallEntry,
  TracedEnd as RunEnd,
  RunHead,
  RunPiece,
  TracedRun as Run,
  RunTotals,
  SegmentEntry,
  StepRecord,
  StepText,
  TracedCall,
  TurnEntry,
  TurnRecord,
} from '../runs/index.js'
