export { exportAtif, type RecordFiles } from './atif.js'
export { readAtifEvents, isAtif } from './atif_input.js'
export { deriveRecords } from './derived.js'
export { readEvents, type LogFaults } from '../runs/index.js'
export { exportOpenResponses } from './open_responses.js'
export { exportOtel } from './otel.js'
export { findFirstDifference } from './compare.js'
export { formatMoney, formatOutline, formatSpan } from './outline.js'
export { renderPage, type PageOptions } from './page.js'
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
