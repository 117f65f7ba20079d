export { type LogFaults, readEvents } from './log.js'
export { toArguments, isDenied, isFailed, type LoggedEvent, reduce, reduceLog, RunReducer } from './reduce.js'
export type {
  BoundaryEntry,
  ChildEntry,
  MessageEntry,
  NoteEntry,
  OwnCallEntry,
  RunHead,
  RunPiece,
  RunTotals,
  SegmentEntry,
  StepRecord,
  StepText,
  TracedCall,
  TracedEnd,
  TracedRun,
  TurnEntry,
  TurnRecord,
} from './types.js'
